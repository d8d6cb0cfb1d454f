package adaptive

import (
	"path/filepath"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// maxFile bounds how much of a scenario file is read.
const maxFile = 1 << 20

// ReadPlan reads a scenario file such as scenarios/adaptive.yaml.
func ReadPlan(path string) (Plan, error) {
	data, err := yamlfile.ReadFile(path, "a scenario of the adaptive broker", maxFile)
	if err != nil {
		return Plan{}, err
	}
	return parsePlan(path, data)
}

func parsePlan(name string, data []byte) (Plan, error) {
	top, err := yamlfile.Parse(name, "a scenario of the adaptive broker", data)
	if err != nil {
		return Plan{}, err
	}
	p := DefaultPlan()
	p.File = filepath.Base(name)
	runs := func(v yamlfile.Value) int { return v.WholeNumber(1, 1000) }
	top.ReadMapping(
		yamlfile.ReadField("programs", func(v yamlfile.Value) {
			for v := range v.EachItem("programs") {
				p.Programs = append(p.Programs, v.Name())
			}
		}),
		yamlfile.StoreField("length", &p.Length, yamlfile.Value.PositiveDuration),
		yamlfile.StoreField("sample", &p.Sample, readInterval),
		yamlfile.StoreField("repeat", &p.Repeat, runs),
		yamlfile.ReadField("others", func(v yamlfile.Value) {
			v.ReadMapping(
				yamlfile.StoreField("programs", &p.Others.N, runs),
				yamlfile.StoreField("after", &p.Others.After, yamlfile.Value.PositiveDuration),
			)
		}),
		yamlfile.StoreField("slack", &p.Slack, func(v yamlfile.Value) float64 { return v.Number(0, 10) }),
		yamlfile.ReadField("overhead", func(v yamlfile.Value) {
			v.ReadMapping(
				yamlfile.ReadField("intervals", func(v yamlfile.Value) {
					p.Intervals = nil
					for v := range v.EachItem("intervals") {
						p.Intervals = append(p.Intervals, readInterval(v))
					}
				}),
				yamlfile.StoreField("length", &p.OverheadLength, yamlfile.Value.PositiveDuration),
				yamlfile.StoreField("repeat", &p.OverheadRepeat, runs),
			)
		}),
		yamlfile.ReadField("calibration", func(v yamlfile.Value) {
			v.ReadMapping(
				yamlfile.StoreField("runs", &p.Live.Runs, func(v yamlfile.Value) int { return v.WholeNumber(1, 100_000) }),
				yamlfile.StoreField("atOnce", &p.Live.AtOnce, func(v yamlfile.Value) int { return v.WholeNumber(1, 2) }),
				yamlfile.StoreField("learn", &p.Live.Learn, runs),
				yamlfile.StoreField("length", &p.Live.Length, yamlfile.Value.PositiveDuration),
				yamlfile.StoreField("sample", &p.Live.Sample, readInterval),
			)
		}),
	)
	return p, top.Err()
}

// readInterval is one at which agents can look at programs.
func readInterval(v yamlfile.Value) time.Duration {
	d := v.Duration()
	if !v.HasFailed() && (d < 100*time.Millisecond || d > 2*time.Minute) {
		v.ReportWrong("a time from 100ms to 2m")
	}
	return d
}
