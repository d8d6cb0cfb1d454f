package scenario

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
	"github.com/godwit-hpc/godwit/internal/sched/contract"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/resched"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

const (
	maxPhases   = 1_000_000
	maxPrograms = 10_000 // of others, on one host
	maxOrder    = 10_000_000
)

// HostLoad is programs of others that compute on hosts of a cluster.
type HostLoad struct {
	Cluster core.ClusterID
	Hosts   []int // indices within the cluster
	Steps   []LoadStep
}

// LoadStep is how many programs there are from a moment on.
type LoadStep struct {
	At       core.Time
	Programs int
}

// LoadChange is one host of one step.
type LoadChange struct {
	At       core.Time
	Cluster  core.ClusterID
	Host     int
	Programs int
}

// LoadChanges lists the changes of all hosts in the order of time.
func (s *Scenario) LoadChanges() []LoadChange {
	var list []LoadChange
	for _, l := range s.HostLoads {
		for _, step := range l.Steps {
			for _, h := range l.Hosts {
				list = append(list, LoadChange{step.At, l.Cluster, h, step.Programs})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b LoadChange) int { return cmp.Compare(a.At, b.At) })
	return list
}

// Moves is what saving, moving and starting programs costs.
type Moves struct {
	WriteMbps                       float64
	Start, Schedule, Weather, Other time.Duration
	Noise                           float64
}

// What a sweep goes over.
const (
	SweepMatrix = "matrix" // the order of the matrices
	SweepLoad   = "load"   // programs on loaded hosts
	SweepTime   = "time"   // minutes after which the load comes
)

// Sweep is one run for each of several values of something.
type Sweep struct {
	Over   string
	Values []float64

	matrices []matrixProgram
}

// matrixProgram is a program whose work follows from the order of its matrix.
type matrixProgram struct {
	program int
	mflops  float64
}

// Variant is the scenario with one value of its sweep.
func (s *Scenario) Variant(value float64) *Scenario {
	v := *s
	switch s.Sweep.Over {
	case SweepMatrix:
		w := *s.Workload
		w.Programs = slices.Clone(w.Programs)
		for _, m := range s.Sweep.matrices {
			setMatrix(&w.Programs[m.program], value, m.mflops)
		}
		v.Workload = &w
	default:
		v.HostLoads = slices.Clone(s.HostLoads)
		for i := range v.HostLoads {
			steps := slices.Clone(v.HostLoads[i].Steps)
			for k := range steps {
				if s.Sweep.Over == SweepLoad && steps[k].Programs > 0 {
					steps[k].Programs = int(value)
				} else if s.Sweep.Over == SweepTime {
					steps[k].At = steps[k].At.Add(core.DurationFromSeconds(60*value) - time.Duration(steps[0].At))
				}
			}
			v.HostLoads[i].Steps = steps
		}
	}
	v.Name = fmt.Sprintf("%s, %s %g", s.Name, s.Sweep.Over, value)
	return &v
}

// setMatrix gives a program the work and the data of a QR factorisation of a dense matrix of that order, 4/3 n³
// operations and 8 bytes an element.
func setMatrix(p *workload.Program, order, mflops float64) {
	a := *p.App
	p.App, p.Work = &a, 4.0/3*order*order*order/(mflops*1e6)
	a.Data = int64(8 * order * order)
}

// readMatrix reads the order of a matrix, and how many million operations a processor of a speed-1 host does in a
// second.
func (r *reader) readMatrix(v yamlfile.Value, p *workload.Program) {
	order, mflops := 0, 0.0
	found := v.ReadMapping(
		yamlfile.ReadField("order", func(v yamlfile.Value) { order = v.WholeNumber(1, maxOrder) }),
		yamlfile.ReadField("mflops", func(v yamlfile.Value) { mflops = v.PositiveNumber(1e9) }),
	)
	requireFields(found, "order", "mflops")
	if r.hasFailed() {
		return
	}
	setMatrix(p, float64(order), mflops)
	r.matrices = append(r.matrices, matrixProgram{len(r.s.Workload.Programs), mflops})
}

func (r *reader) readContract(v yamlfile.Value) *core.Contract {
	c := &core.Contract{}
	v.ReadMapping(
		yamlfile.ReadField("rule", func(v yamlfile.Value) { c.Rule = v.OneOf(contract.RuleNames()...) }),
		yamlfile.ReadField("lower", func(v yamlfile.Value) { c.Lower = v.Number(0.01, 1) }),
		yamlfile.ReadField("upper", func(v yamlfile.Value) { c.Upper = v.Number(1, 1000) }),
		yamlfile.ReadField("consecutive", func(v yamlfile.Value) { c.Consecutive = v.WholeNumber(1, 1000) }),
	)
	return c
}

func (r *reader) readRescheduler(v yamlfile.Value) {
	g := &r.s.Policy.Gain
	v.ReadMapping(
		yamlfile.ReadField("threshold", func(v yamlfile.Value) { g.Threshold = v.Number(0.001, 1) }),
		yamlfile.ReadField("learns", func(v yamlfile.Value) { g.Fixed = !v.Bool() }),
		yamlfile.ReadField("cost", func(v yamlfile.Value) { g.PaperCost = v.OneOf("predicted", "paper") == "paper" }),
		yamlfile.ReadField("opportunistic", func(v yamlfile.Value) { g.NoOpportunity = !v.Bool() }),
		yamlfile.ReadField("mode", func(v yamlfile.Value) { g.Mode = v.OneOf(resched.ModeNames()...) }),
	)
}

func (r *reader) readMoves(v yamlfile.Value) {
	m := &r.s.Moves
	v.ReadMapping(
		yamlfile.ReadField("write_mbps", func(v yamlfile.Value) { m.WriteMbps = v.PositiveNumber(1e9) }),
		yamlfile.StoreField("start", &m.Start, yamlfile.Value.Duration),
		yamlfile.StoreField("schedule", &m.Schedule, yamlfile.Value.Duration),
		yamlfile.StoreField("weather", &m.Weather, yamlfile.Value.Duration),
		yamlfile.StoreField("other", &m.Other, yamlfile.Value.Duration),
		yamlfile.ReadField("noise", func(v yamlfile.Value) { m.Noise = v.Number(0, 0.9) }),
	)
}

func (r *reader) readHostLoads(v yamlfile.Value) {
	for item := range v.EachItem("loads of hosts") {
		r.s.HostLoads = append(r.s.HostLoads, r.readHostLoad(item))
	}
}

// readHostLoad reads a load that comes and goes once, or a trace of one.
func (r *reader) readHostLoad(v yamlfile.Value) HostLoad {
	var l HostLoad
	var hosts yamlfile.Value
	var at core.Time
	var lasts time.Duration
	programs, trace := 0, ""
	found := v.ReadMapping(
		yamlfile.StoreField("cluster", &l.Cluster, r.readCluster),
		yamlfile.DeferField("hosts", &hosts),
		yamlfile.ReadField("at", func(v yamlfile.Value) { at = core.Time(v.Duration()) }),
		yamlfile.StoreField("for", &lasts, yamlfile.Value.PositiveDuration),
		yamlfile.ReadField("programs", func(v yamlfile.Value) { programs = v.WholeNumber(1, maxPrograms) }),
		yamlfile.ReadField("trace", func(v yamlfile.Value) {
			trace = v.ExistingFile("a file with lines of seconds,programs")
		}),
	)
	requireFields(found, "cluster")
	if r.hasFailed() {
		return l
	}
	l.Hosts = r.readHosts(hosts, l.Cluster)
	if trace != "" {
		var err error
		l.Steps, err = readLoadTrace(trace)
		v.AdoptError(err)
		return l
	}
	requireFields(found, "at", "programs")
	l.Steps = []LoadStep{{at, programs}}
	if lasts > 0 {
		l.Steps = append(l.Steps, LoadStep{At: at.Add(lasts)})
	}
	return l
}

// readLoadTrace reads lines of seconds,programs.
func readLoadTrace(path string) ([]LoadStep, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, badinput.UnreadableFile(path, err)
	}
	defer func() { _ = f.Close() }() // only read from
	lines := csv.NewReader(f)
	lines.FieldsPerRecord, lines.Comment = 2, '#'
	rows, err := lines.ReadAll()
	if err != nil {
		return nil, &badinput.Error{File: path, Problem: "expected lines of seconds,programs: " + err.Error()}
	}
	var list []LoadStep
	for i, row := range rows {
		at, err1 := strconv.ParseFloat(row[0], 64)
		n, err2 := strconv.Atoi(row[1])
		if err1 != nil || err2 != nil || !(at >= 0 && at < 1e9) || n < 0 || n > maxPrograms {
			return nil, &badinput.Error{File: path, Field: fmt.Sprintf("row %d", i+1), Value: row[0] + "," + row[1],
				Want: fmt.Sprintf("seconds,programs with at most %d programs, such as 300,10", maxPrograms)}
		}
		list = append(list, LoadStep{core.Time(core.DurationFromSeconds(at)), n})
	}
	return list, nil
}

// readSweep reads what is varied from run to run.
func (r *reader) readSweep(v yamlfile.Value) {
	s := &Sweep{matrices: r.matrices}
	r.s.Sweep = s
	list := func(over string) yamlfile.Field {
		return yamlfile.ReadField(over, func(v yamlfile.Value) {
			if s.Over != "" {
				v.ReportError("", "only one of matrix, load and time is varied")
			}
			s.Over = over
			for item := range v.EachItem("numbers") {
				if over == SweepTime {
					s.Values = append(s.Values, item.Number(0, 1e6))
				} else {
					s.Values = append(s.Values, float64(item.WholeNumber(1, maxOrder)))
				}
			}
		})
	}
	v.ReadMapping(list(SweepMatrix), list(SweepLoad), list(SweepTime))
	switch {
	case r.hasFailed():
	case len(s.Values) == 0:
		v.ReportError("", "matrix, load or time with the values that it goes through")
	case s.Over == SweepMatrix && len(s.matrices) == 0:
		v.ReportError(s.Over, "an application with a matrix")
	case s.Over != SweepMatrix && len(r.s.HostLoads) == 0:
		v.ReportError(s.Over, "a host_load, whose figures it replaces")
	}
}
