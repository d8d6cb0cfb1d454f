package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
	"github.com/godwit-hpc/godwit/internal/observe/weather"
)

// Bounds of the settings of the weather. Above the largest budget probes would be
// felt; below the smallest nothing would be measured.
const (
	minProbe  = time.Second
	maxProbe  = 24 * time.Hour
	minBudget = 0.0001
	maxBudget = 0.1
)

func readWeather(w *weather.Settings, v yamlfile.Value) {
	v.ReadMapping(
		yamlfile.ReadField("probe", func(v yamlfile.Value) { readProbe(w, v) }),
		yamlfile.ReadField("budget", func(v yamlfile.Value) { w.Budget = readBudget(v) }),
		yamlfile.ReadField("network", func(v yamlfile.Value) {
			const want = "a file that describes the network: a bandwidth graph (JSON, CSV) or a platform (YAML, XML)"
			if w.Network = v.Text(want); w.Network == "" {
				v.ReportWrong(want)
			}
		}),
	)
}

func readProbe(w *weather.Settings, v yamlfile.Value) {
	want := "on, off, or how often each way may be measured, from 1s to 24h"
	switch s := v.Text(want); s {
	case "on", "true", "yes":
	case "off", "false", "no":
		w.Off = true
	default:
		d, ok := yamlfile.ParseDuration(s)
		if !v.HasFailed() && (!ok || d < minProbe || d > maxProbe) {
			v.ReportWrong(want)
		}
		w.Every = d
	}
}

// readBudget is a part, as a number or in percent.
func readBudget(v yamlfile.Value) float64 {
	want := fmt.Sprintf("a part of each link from %g%% to %g%%, such as 0.5%%", 100*minBudget, 100*maxBudget)
	s, percent := strings.CutSuffix(strings.TrimSpace(v.Text(want)), "%")
	x, ok := yamlfile.ParseNumber(strings.TrimSpace(s))
	if percent {
		x /= 100
	}
	if !v.HasFailed() && (!ok || x < minBudget || x > maxBudget) {
		v.ReportWrong(want)
	}
	return x
}
