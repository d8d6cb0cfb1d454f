package config

import (
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/observe/weather"
)

func TestWhatIsMeasuredOfTheNetworkCanBeSet(t *testing.T) {
	for text, want := range map[string]weather.Settings{
		"{}":                           {},
		"{probe: on}":                  {},
		"{probe: off}":                 {Off: true},
		"{probe: 90s, budget: 1%}":     {Every: 90 * time.Second, Budget: 0.01},
		"{budget: 0.002}":              {Budget: 0.002},
		"{network: net.json}":          {Network: "/etc/godwit/net.json"},
		"{network: /srv/net/grid.xml}": {Network: "/srv/net/grid.xml"},
	} {
		c, err := ReadSettings("/etc/godwit/config.yaml", []byte("weather: "+text), []int{0})
		if err != nil || c.Weather != want {
			t.Errorf("%s: %+v, %v", text, c.Weather, err)
		}
	}
}
