package remote

import (
	"context"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/remote/talk"
)

var _ driver.Sensor = (*Driver)(nil)

// MeasureHosts has something measured over there.
func (d *Driver) MeasureHosts(ctx context.Context, q driver.Sensing) (driver.Sensed, error) {
	a, err := d.sendRequest(ctx, &talk.Request{Do: talk.Sense, Sense: &q}, false, nil)
	if err != nil || a.Sensed == nil {
		return driver.Sensed{}, emptyAnswerError(err)
	}
	return *a.Sensed, nil
}
