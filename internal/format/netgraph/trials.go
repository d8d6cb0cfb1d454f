package netgraph

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// Trial is how long a short run of the program took on some hosts, node 0 on the
// first.
type Trial struct {
	Hosts   []string  `json:"hosts"`
	Seconds float64   `json:"seconds"`
	At      time.Time `json:"at,omitzero"` // when it was made; zero: nobody knows
}

// TrialsLast is how long after a trial run the network is taken to be as it was.
const TrialsLast = 15 * time.Minute

// ReadTrials reads the trial runs that a pattern file holds, which may be none.
func ReadTrials(path string) ([]Trial, error) {
	data, err := yamlfile.ReadFile(path, "a pattern file", maxFileBytes)
	if err != nil {
		return nil, err
	}
	return ParseTrials(path, data)
}

// ParseTrials reads them from the text of a pattern.
func ParseTrials(name string, data []byte) ([]Trial, error) {
	var f struct {
		Nodes  int     `json:"nodes"`
		Trials []Trial `json:"trials"`
	}
	if err := decodeJSON(name, data, &f); err != nil {
		return nil, err
	}
	for i := range f.Trials {
		if err := f.Trials[i].CheckHosts(f.Nodes); err != nil {
			return nil, &badinput.Error{File: name, Field: fmt.Sprintf("trials[%d]", i), Problem: err.Error()}
		}
	}
	return f.Trials, nil
}

// CheckHosts reports what makes it impossible for so many nodes.
func (t *Trial) CheckHosts(nodes int) error {
	hosts := slices.Clone(t.Hosts)
	slices.Sort(hosts)
	if nodes < 1 || len(t.Hosts) != nodes || hosts[0] == "" || len(slices.Compact(hosts)) != nodes {
		return fmt.Errorf("%d different hosts, one for each node", nodes)
	}
	if !(t.Seconds > 0) || math.IsInf(t.Seconds, 1) {
		return fmt.Errorf("seconds above 0, not %g", t.Seconds)
	}
	if year := t.At.Year(); !t.At.IsZero() && (year < 1970 || year > 2200) {
		return fmt.Errorf("a time at which it was made, not one of the year %d", year)
	}
	return nil
}
