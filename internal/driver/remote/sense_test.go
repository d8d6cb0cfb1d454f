package remote_test

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/remote/sshdtest"
)

func TestAnOutpostIsASensor(t *testing.T) {
	sshd := sshdtest.Start(t)
	w := newWorld(t, sshd)
	d := w.open()
	a, err := d.MeasureHosts(t.Context(), driver.Sensing{})
	if err != nil || a.Machine.Load.Share <= 0 || a.Machine.Memory < 1<<20 {
		t.Errorf("%+v %v", a.Machine, err)
	}
	at, err := d.MeasureHosts(t.Context(), driver.Sensing{Listen: &driver.Listening{Name: "localhost"}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.MeasureHosts(t.Context(), driver.Sensing{Probe: &driver.Probe{To: *at.Listens, Bytes: 1 << 20}})
	if err != nil || got.Way.There.Mbps <= 0 || got.Way.Back.Mbps <= 0 {
		t.Errorf("%+v %v", got.Way, err)
	}
	if _, err := d.MeasureHosts(t.Context(),
		driver.Sensing{Listen: &driver.Listening{}, Probe: &driver.Probe{}}); err == nil {
		t.Error("two things are done at once")
	}
}
