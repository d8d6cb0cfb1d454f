package koala

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/sim/app"
	"github.com/godwit-hpc/godwit/internal/sim/scenario"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// playedJob is a job as scenarios/koala/play.py submits it in the lab.
type playedJob struct {
	At      float64  `json:"at"` // seconds after the first
	App     string   `json:"app"`
	Kind    string   `json:"kind"`
	Min     int      `json:"min"`
	Max     int      `json:"max"`
	Initial int      `json:"initial"`
	Args    []string `json:"args"` // of examples/jobs/paced.py
}

// playedJobs writes the jobs of a scenario of the simulator, a line each, for the lab.
func playedJobs(s *scenario.Scenario) ([]byte, error) {
	jobs, _, err := s.OpenJobs(s.Seed)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	var j workload.Job
	for jobs.NextJob(&j) {
		p, err := newPlayedJob(&j)
		if err == nil {
			err = lines.Encode(p)
		}
		if err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// newPlayedJob is a job of the simulator for the lab.
func newPlayedJob(j *workload.Job) (*playedJob, error) {
	table, ok := j.App.Speedup.(*app.Table)
	if !ok {
		return nil, fmt.Errorf("the program %s does not say its run times by size", j.App.Name)
	}
	c := &j.Spec.Components[0]
	return &playedJob{At: j.Submit.Sub(0).Seconds(), App: j.App.Name, Kind: j.Spec.Kind.String(), Min: c.Min, Max: c.Max,
		Initial: c.Initial, Args: []string{strings.TrimPrefix(table.String(), "table:"), j.App.Accept.String(),
			strconv.FormatFloat(j.App.Resize.Seconds(), 'f', -1, 64)}}, nil
}
