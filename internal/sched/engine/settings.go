package engine

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/malleable"
	"github.com/godwit-hpc/godwit/internal/sched/resched"
)

// noPolicy is the name of no malleability policy: sizes never change.
const noPolicy = "none"

// settingsText is a Config as logs keep it: whoever replays one needs an engine with the
// same settings.
type settingsText struct {
	Approach      string         `json:"approach"`
	Malleable     string         `json:"malleable"`
	ScanEvery     durationText   `json:"scan_every"`
	ShrinkGrace   durationText   `json:"shrink_grace"`
	GrowGrace     durationText   `json:"grow_grace,omitzero"`
	StopGrace     durationText   `json:"stop_grace"`
	ClaimGrace    durationText   `json:"claim_grace"`
	ClaimMargin   durationText   `json:"claim_margin"`
	CollectGrace  durationText   `json:"collect_grace,omitzero"`
	RetryPause    durationText   `json:"retry_pause,omitzero"`
	Whole         bool           `json:"whole,omitzero"`
	Describes     bool           `json:"describes,omitzero"`
	DescribeEvery durationText   `json:"describe_every,omitzero"`
	ResultsAtEnd  bool           `json:"results_at_end,omitzero"`
	Resched       resched.Config `json:"resched,omitzero"`
}

// durationText is a duration as text: 1m30s.
type durationText time.Duration

func (d durationText) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func (d *durationText) UnmarshalText(b []byte) error {
	x, err := time.ParseDuration(string(b))
	if err == nil && x < 0 {
		err = fmt.Errorf("a duration below 0: %s", b)
	}
	*d = durationText(x)
	return err
}

// MarshalJSON writes the settings with the names of policies.
func (c Config) MarshalJSON() ([]byte, error) {
	t := settingsText{Approach: c.Approach.String(), Malleable: noPolicy, ScanEvery: durationText(c.ScanEvery),
		ShrinkGrace: durationText(c.ShrinkGrace), GrowGrace: durationText(c.GrowGrace), StopGrace: durationText(c.StopGrace),
		ClaimGrace: durationText(c.ClaimGrace), ClaimMargin: durationText(c.ClaimMargin),
		CollectGrace: durationText(c.CollectGrace), RetryPause: durationText(c.RetryPause), Whole: c.Whole,
		Describes: c.Describes, DescribeEvery: durationText(c.DescribeEvery), ResultsAtEnd: c.ResultsAtEnd,
		Resched: c.Resched}
	if c.Malleable != nil {
		t.Malleable = ""
		for _, name := range malleable.PolicyNames() {
			if malleable.ByName(name) == c.Malleable {
				t.Malleable = name
			}
		}
	}
	if t.Malleable == "" {
		return nil, fmt.Errorf("the malleability policy %T has no name", c.Malleable)
	}
	return json.Marshal(t)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Config) UnmarshalJSON(b []byte) error {
	var t settingsText
	if err := json.Unmarshal(b, &t); err != nil {
		return err
	}
	if t.Approach != PRA.String() && t.Approach != PWA.String() {
		return fmt.Errorf("unknown approach %q", t.Approach)
	}
	if t.Malleable != noPolicy && malleable.ByName(t.Malleable) == nil {
		return fmt.Errorf("unknown malleability policy %q", t.Malleable)
	}
	*c = Config{Malleable: malleable.ByName(t.Malleable), ScanEvery: time.Duration(t.ScanEvery),
		ShrinkGrace: time.Duration(t.ShrinkGrace), GrowGrace: time.Duration(t.GrowGrace),
		StopGrace:  time.Duration(t.StopGrace),
		ClaimGrace: time.Duration(t.ClaimGrace), ClaimMargin: time.Duration(t.ClaimMargin),
		CollectGrace: time.Duration(t.CollectGrace), RetryPause: time.Duration(t.RetryPause), Whole: t.Whole,
		Describes: t.Describes, DescribeEvery: time.Duration(t.DescribeEvery), ResultsAtEnd: t.ResultsAtEnd,
		Resched: t.Resched}
	if t.Approach == PWA.String() {
		c.Approach = PWA
	}
	return nil
}
