package core

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestAJobThatNoGridCouldRunIsRefusedWithTheReason(t *testing.T) {
	good := func() Job { return Job{ID: 1, Components: []Component{{Min: 2, Max: 4}, {Min: 1, Max: 1}}} }
	fine := good()
	if err := fine.CheckSpec(); err != nil {
		t.Fatal(err)
	}
	if fine.MinSize() != 3 || fine.MaxSize() != 5 {
		t.Errorf("sizes are [%d, %d]", fine.MinSize(), fine.MaxSize())
	}
	for want, spoil := range map[string]func(*Job){
		"not positive":    func(j *Job) { j.ID = 0 },
		"no known kind":   func(j *Job) { j.Kind = 3 },
		"no components":   func(j *Job) { j.Components = nil },
		"between 0 and":   func(j *Job) { j.Components[0].Min = 0 },
		"and 1 core":      func(j *Job) { j.Components[0].Max = 1 },
		"component 1":     func(j *Job) { j.Components[1].Max = math.MaxInt },
		"-1 at first":     func(j *Job) { j.Components[0].Initial = -1 },
		"-1 bytes":        func(j *Job) { j.Components[0].Memory = -1 },
		"negative number": func(j *Job) { j.Components[1].Inputs = []FileID{0, -3} },
	} {
		j := good()
		spoil(&j)
		if err := j.CheckSpec(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, have %v", want, err)
		}
	}
}

func TestTimeStopsAtNeverRatherThanWrappingAround(t *testing.T) {
	for _, c := range []struct {
		t    Time
		d    time.Duration
		want Time
	}{
		{AtSecond(1), time.Second, AtSecond(2)},
		{AtSecond(1), -2 * time.Second, AtSecond(-1)},
		{Never, 1, Never},
		{Never - 5, 5, Never},
		{AtSecond(1), math.MaxInt64, Never},
		{math.MinInt64, math.MaxInt64, -1},
	} {
		if got := c.t.Add(c.d); got != c.want {
			t.Errorf("%d + %d = %d, want %d", c.t, c.d, got, c.want)
		}
	}
}

func TestSecondsAreRoundedToNanosecondsAndClamped(t *testing.T) {
	for s, want := range map[float64]time.Duration{
		0: 0, 1.5: 1500 * time.Millisecond, 1e-9: 1, 0.4e-9: 0, -2: -2 * time.Second,
		1e300: math.MaxInt64, -1e300: math.MinInt64, math.Inf(1): math.MaxInt64,
	} {
		if got := DurationFromSeconds(s); got != want {
			t.Errorf("%g s is %d ns, want %d", s, got, want)
		}
	}
	if got := AtSecond(2.25).Seconds(); got != 2.25 {
		t.Errorf("second 2.25 is second %g", got)
	}
}
