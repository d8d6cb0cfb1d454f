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
	runs := func(v yamlfile.Value) int { return v.Whole(1, 1000) }
	top.Mapping(
		yamlfile.Key("programs", func(v yamlfile.Value) {
			for v := range v.List("programs") {
				p.Programs = append(p.Programs, v.Name())
			}
		}),
		yamlfile.Set("length", &p.Length, yamlfile.Value.PositiveDuration),
		yamlfile.Set("sample", &p.Sample, interval),
		yamlfile.Set("repeat", &p.Repeat, runs),
		yamlfile.Key("others", func(v yamlfile.Value) {
			v.Mapping(
				yamlfile.Set("programs", &p.Others.N, runs),
				yamlfile.Set("after", &p.Others.After, yamlfile.Value.PositiveDuration),
			)
		}),
		yamlfile.Set("slack", &p.Slack, func(v yamlfile.Value) float64 { return v.Number(0, 10) }),
		yamlfile.Key("overhead", func(v yamlfile.Value) {
			v.Mapping(
				yamlfile.Key("intervals", func(v yamlfile.Value) {
					p.Intervals = nil
					for v := range v.List("intervals") {
						p.Intervals = append(p.Intervals, interval(v))
					}
				}),
				yamlfile.Set("length", &p.OverheadLength, yamlfile.Value.PositiveDuration),
				yamlfile.Set("repeat", &p.OverheadRepeat, runs),
			)
		}),
		yamlfile.Key("calibration", func(v yamlfile.Value) {
			v.Mapping(
				yamlfile.Set("runs", &p.Live.Runs, func(v yamlfile.Value) int { return v.Whole(1, 100_000) }),
				yamlfile.Set("atOnce", &p.Live.AtOnce, func(v yamlfile.Value) int { return v.Whole(1, 2) }),
				yamlfile.Set("learn", &p.Live.Learn, runs),
				yamlfile.Set("length", &p.Live.Length, yamlfile.Value.PositiveDuration),
				yamlfile.Set("sample", &p.Live.Sample, interval),
			)
		}),
	)
	return p, top.Err()
}

// interval is one at which agents can look at programs.
func interval(v yamlfile.Value) time.Duration {
	d := v.Duration()
	if !v.Failed() && (d < 100*time.Millisecond || d > 2*time.Minute) {
		v.Wrong("a time from 100ms to 2m")
	}
	return d
}
