package workload

import (
	"fmt"
	"math"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/app"
)

// Estimates says which run times the users of a trace announce.
type Estimates uint8

const (
	UserEstimates  Estimates = iota // what the trace says they asked for
	ExactEstimates                  // the run time itself, as if users knew
)

// Overrun says what becomes of a job that runs longer than its user asked for.
type Overrun uint8

const (
	OverrunRuns   Overrun = iota // it runs on, as it did when the trace was recorded
	OverrunKilled                // it is killed at its limit
)

var (
	estimateNames = []string{UserEstimates: "user", ExactEstimates: "exact"}
	overrunNames  = []string{OverrunRuns: "run", OverrunKilled: "kill"}
)

func (e Estimates) String() string { return estimateNames[e] }
func (o Overrun) String() string   { return overrunNames[o] }

// ParseEstimates reads user or exact; the error is about the field named.
func ParseEstimates(field, text string) (Estimates, error) {
	i, err := chooseName(field, text, estimateNames)
	return Estimates(i), err
}

// ParseOverrun reads run or kill; the error is about the field named.
func ParseOverrun(field, text string) (Overrun, error) {
	i, err := chooseName(field, text, overrunNames)
	return Overrun(i), err
}

func chooseName(field, text string, names []string) (int, error) {
	for i, name := range names {
		if name == text {
			return i, nil
		}
	}
	return 0, &badinput.Error{Field: field, Value: text, Want: strings.Join(names, " or ")}
}

// TraceOptions says how the records of a trace become jobs. The zero value
// takes them as they are.
type TraceOptions struct {
	File      string      // the trace as the user named it, for messages
	MaxProcs  int         // processors of the largest cluster; 0: no job is too large
	Lenient   bool        // leave out jobs that are too large, and count them, rather than fail
	Kind      core.Kind   // what the jobs become
	Share     float64     // of the jobs that become Kind, the others are rigid; 0 means all
	MinShare  float64     // smallest size as a share of the recorded one, rounded up; 0 means 0.25
	MaxShare  float64     // largest size likewise, rounded down, at most MaxProcs; 0 means 2
	Speedup   app.Speedup // how moldable and malleable jobs scale; nil draws one for each program
	Estimates Estimates
	Overrun   Overrun
	Load      float64 // the times between submissions are divided by it; 0 means 1
	First     int     // take so many jobs from the start of the trace; 0 means all
	Seed      uint64
}

// Defaults for a malleable version of a trace: a quarter to twice the size
// that the user chose.
const (
	defaultMinShare = 0.25
	defaultMaxShare = 2
)

// withDefaults is o with its defaults in place.
func (o TraceOptions) withDefaults() (TraceOptions, error) {
	orElse(&o.Share, 1)
	orElse(&o.MinShare, defaultMinShare)
	orElse(&o.MaxShare, defaultMaxShare)
	orElse(&o.Load, 1)
	for _, check := range []struct {
		field         string
		value, lo, hi float64
	}{
		{"share", o.Share, 0, 1},
		{"min_share", o.MinShare, 0, 1},
		{"max_share", o.MaxShare, 1, 1e6},
		{"load", o.Load, 1e-6, 1e6},
		{"first", float64(o.First), 0, 1e9},
		{"max_procs", float64(o.MaxProcs), 0, math.MaxInt32},
	} {
		if !(check.value >= check.lo && check.value <= check.hi) {
			want := fmt.Sprintf("a number from %g to %g", check.lo, check.hi)
			return o, &badinput.Error{Field: check.field, Value: fmt.Sprint(check.value), Want: want}
		}
	}
	return o, nil
}

func orElse(x *float64, fallback float64) {
	if *x == 0 {
		*x = fallback
	}
}

// sizeRange is the range within which a job that was recorded with so many
// processors may run; the recorded size is always in it.
func (o *TraceOptions) sizeRange(procs int) (least, most int) {
	least = max(1, int(math.Ceil(float64(procs)*o.MinShare)))
	most = int(math.Floor(float64(procs) * o.MaxShare))
	if o.MaxProcs > 0 {
		most = min(most, o.MaxProcs)
	}
	return least, most
}
