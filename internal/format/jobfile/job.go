// Package jobfile is what a user asks for: the job, as a YAML file, a script or
// a command line gives it, checked as a whole before anything happens. It knows
// the fields and their meaning, not what is done with them.
package jobfile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/netgraph"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Job is one job as its user described it. It is kept in the store as JSON.
type Job struct {
	Name string `json:"name,omitempty"`
	// Labels are what its user files it under, by name.
	Labels  map[string]string `json:"labels,omitempty"`
	Argv    []string          `json:"argv"`              // `run: line` becomes sh -c line
	Setup   string            `json:"setup,omitempty"`   // shell line run once before, in the same folder
	Build   Build             `json:"build,omitzero"`    // before Setup, once for each kind of host
	Workdir string            `json:"workdir,omitempty"` // absolute on the submitting machine; "": an empty folder
	// WorkdirGiven says that the user named it: else it is where the command was given.
	WorkdirGiven bool        `json:"-"`
	Outputs      []string    `json:"outputs,omitempty"` // brought back; none named: whatever changed
	Leave        []FarOutput `json:"leave,omitempty"`   // left at clusters instead
	// relative: below Workdir; absolute: put beside it by its last name
	Inputs []string          `json:"inputs,omitempty"`
	Far    []FarInput        `json:"far,omitempty"`    // inputs that are elsewhere
	Env    map[string]string `json:"env,omitempty"`    // variables that it names
	Caller map[string]string `json:"caller,omitempty"` // environment of who submitted it; see Environment
	Export Export            `json:"export,omitempty"` // how much of that goes to other accounts

	Deadline time.Duration `json:"deadline,omitempty"` // from submission; 0 if none
	Estimate time.Duration `json:"estimate,omitempty"` // CPU time at 100 % on the reference host; 0 if unknown
	// EstimateBy is the model that made the estimate, and EstimateSpread how far it
	// may be off, as a standard deviation of the logarithm; "": its user did.
	EstimateBy     string  `json:"estimateBy,omitempty"`
	EstimateSpread float64 `json:"estimateSpread,omitempty"`

	Min  int       `json:"min"` // processors, summed over hosts
	Max  int       `json:"max"`
	Kind core.Kind `json:"kind"`
	// Initial is the size with which it is to start, if so much is free; 0: the scheduler chooses.
	Initial int `json:"initial,omitempty"`

	// Nodes is how many hosts it is to be spread over; 0: one if one is large
	// enough. Clusters of a single host run what a script for a batch system spreads,
	// and refuse other jobs.
	Nodes int `json:"nodes,omitempty"`
	// Pattern says who talks to whom in it: its hosts are chosen by how well they
	// are connected.
	Pattern *core.Pattern `json:"pattern,omitempty"`
	// Trials are short runs of it that somebody made, the best first: there it is to run.
	Trials []netgraph.Trial `json:"trials,omitempty"`

	// Components are its parts, which are placed in one cluster each and started together; none: it
	// has one. Min and Max are then the sum of their cores.
	Components []Component `json:"components,omitempty"`
	// MPI says that its parts, if there are several, are one MPI program: its command is run in the first of them, and
	// an mpirun in it starts ranks in all. Their hosts must reach each other.
	MPI bool `json:"mpi,omitempty"`

	Memory    int64         `json:"memory,omitempty"` // bytes on each host
	Time      time.Duration `json:"time,omitempty"`   // killed after this much wall time; 0: never
	Processes int           `json:"processes,omitempty"`
	// Grace is the time between SIGTERM and SIGKILL when it is cancelled; nil: that
	// of the broker.
	Grace *time.Duration `json:"grace,omitempty"`

	On    []string         `json:"on,omitempty"` // clusters where it may run; empty: any
	Place core.PlacePolicy `json:"place,omitempty"`
	// act when P(deadline met) falls below; 0: the default 0.95
	Confidence  float64 `json:"confidence,omitempty"`
	Reliability float64 `json:"reliability,omitempty"` // least reliability of a cluster
	Retries     int     `json:"retries"`               // how often it is started again after a failure not its own
	// which such failures: node_fail, preempted; none named: all; RetryFailed: also its own
	RetryOn []string `json:"retryOn,omitempty"`
	Adapt   Adapt    `json:"adapt,omitempty"`

	Checkpoint Checkpoint `json:"checkpoint"`
	// Contract: it is held to the speed that is predicted where it is placed; nil: nothing is promised.
	Contract *core.Contract `json:"contract,omitempty"`
	Progress string         `json:"progress,omitempty"` // pattern with two groups, done and total, or one, per cent

	Array ArrayRange `json:"array,omitzero"`

	After []Dependency  `json:"after,omitempty"` // what must have happened to other jobs before it starts
	Begin time.Duration `json:"begin,omitempty"` // it starts no sooner, from submission

	// Hold says that it does not start before its user releases it.
	Hold bool `json:"hold,omitempty"`

	// Stdout and Stderr are files in which what it wrote is to be found at its
	// end, beside the log: patterns of OutputName, relative to Workdir.
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
	Append bool   `json:"append,omitempty"` // to what these files hold already
	Merge  bool   `json:"merge,omitempty"`  // what it writes to stderr goes to stdout

	// Stdin says that its standard input is StdinFile in its work folder.
	Stdin bool `json:"stdin,omitempty"`

	Manager Manager `json:"manager,omitzero"`

	// Key is made up by who submits: a job that its owner submitted with the same
	// one before is not taken in again.
	Key string `json:"key,omitempty"`
	// StartOn is the cluster on which the plan of a workflow has the job start. It
	// may be moved from there to wherever else it may run; "": there is no plan.
	StartOn string `json:"startOn,omitempty"`

	// By is the deadline where it was given as a moment; Deadline is the time
	// until then from when the file was read. Whoever submits later sets it again:
	// see Due. BeginAt likewise is Begin.
	By      time.Time `json:"-"`
	BeginAt time.Time `json:"-"`
}

// StdinFile is what a job's standard input is called in its work folder, in which it
// goes wherever the job goes.
const StdinFile = ".godwit-stdin"

// NoOutputs in Outputs says that nothing is to be brought back.
const NoOutputs = ".godwit-nothing"

// FixMoments counts from now on what was given as a moment.
func (j *Job) FixMoments(now time.Time) {
	if !j.By.IsZero() {
		j.Deadline = max(j.By.Sub(now), time.Millisecond)
	}
	if !j.BeginAt.IsZero() {
		j.Begin = max(j.BeginAt.Sub(now), 0)
	}
}

// Manager is what a script says to the batch system that it was written for.
type Manager struct {
	Kind string `json:"kind,omitempty"` // whose variables it expects: Slurm, GridEngine; "": nobody's
	// Options have a meaning on clusters of that kind only, as the partition has:
	// by the names that the manager gives them, without hyphens.
	Options map[string][]string `json:"options,omitempty"`
	Threads int                 `json:"threads,omitempty"` // processors of each of its processes; 0: it does not say
	PerNode int                 `json:"perNode,omitempty"` // processes on each of them; 0: it does not say
	Srun    string              `json:"srun,omitempty"`    // where the script calls srun: job.sh:7; "": nowhere
}

// The kinds of managers whose scripts are understood, named as their drivers.
const (
	Slurm      = "slurm"
	GridEngine = "gridengine"
)

// Adapt says whether a job that is about to miss its deadline is moved.
type Adapt string

const (
	AdaptAuto Adapt = ""    // move it
	AdaptOff  Adapt = "off" // only watch and say so
)

// Checkpoint is how a job is saved.
type Checkpoint struct {
	Method  string        `json:"method"`            // auto, sandbox, signal, exit85, srs, restart
	Every   time.Duration `json:"every,omitempty"`   // 0: chosen from cost and failure rate; <0: never by itself
	Signal  string        `json:"signal,omitempty"`  // e.g. USR1
	Files   []string      `json:"files,omitempty"`   // what the program writes
	Restart []string      `json:"restart,omitempty"` // argv that continues from these files
}

// Never is the Every of a job that is saved only when asked for or moved.
const Never = time.Duration(-1)

// What RetryOn may name.
const (
	NodeFail    = "node_fail"      // its host died, or what runs it there
	Preempted   = "preempted"      // its cluster took the processors away
	RetryFailed = core.RetryFailed // the program ended with another exit code than 0
)

// Why a job failed, where that was not its program's own doing.
const (
	OutOfMemory = "out_of_memory" // it used more memory than it may
	TimeLimit   = "time_limit"    // it ran longer than it may
)

// DefaultRetries is how often a job is started again that was lost through no
// fault of its own: often enough for a bad day, not for ever.
const DefaultRetries = 10

// DefaultConfidence is the chance of meeting the deadline below which something
// is done.
const DefaultConfidence = 0.95

// Warning is something in a file that has no meaning here and was left out.
type Warning struct {
	File  string
	Line  int
	Field string
	Text  string
}

// CheckFields finds what no file or command line could have said: for jobs that come
// from elsewhere.
func (j *Job) CheckFields() error {
	bad := func(field string, value any, want string) error {
		return &badinput.Error{Field: field, Value: fmt.Sprint(value), Want: want}
	}
	far, farErr := j.checkFar()
	left, leaveErr := j.checkLeave()
	patternErr := j.Pattern.CheckSize(j.Min, j.Max)
	switch a := j.Array; {
	case len(j.Argv) == 0 || j.Argv[0] == "":
		return bad("argv", strings.Join(j.Argv, " "), "a command")
	case j.Min < 1 || j.Max < j.Min:
		return bad("procs", fmt.Sprintf("%d-%d", j.Min, j.Max), "at least one core, and not more at least than at most")
	case j.Kind > core.Malleable || j.Kind == core.Rigid && j.Min != j.Max:
		return bad("kind", j.Kind, fmt.Sprintf("rigid, moldable or malleable; a rigid job has one size, not %d to %d cores", j.Min,
			j.Max))
	case j.Initial != 0 && (j.Initial < j.Min || j.Initial > j.Max):
		return bad("procs.initial", j.Initial, fmt.Sprintf("a size that it can have, %d to %d", j.Min, j.Max))
	case j.Nodes < 0 || j.Nodes > j.Min:
		return bad("num_nodes", j.Nodes, "at most as many hosts as cores")
	case !a.isSound():
		return bad("array", fmt.Sprintf("%d-%d:%d %s", a.First, a.Last, a.Step, a.List),
			fmt.Sprintf("at most %d indices", MaxArray))
	case patternErr != nil:
		return bad("pattern", j.Pattern.Name, patternErr.Error())
	case slices.ContainsFunc(j.Trials,
		func(t netgraph.Trial) bool { return j.Pattern == nil || t.CheckHosts(j.Pattern.Nodes) != nil }):
		return bad("trials", len(j.Trials), "hosts for all nodes of a pattern, and seconds above 0")
	case j.Stdout+j.Stderr != "" && !filepath.IsAbs(j.Workdir):
		return bad("workdir", j.Workdir, "the folder to which output files are relative")
	case len(j.Key) > 200:
		return bad("key", j.Key, "at most 200 bytes")
	case farErr != nil:
		return bad("inputs", far.From, farErr.Error())
	case leaveErr != nil:
		return bad("outputs", left.From+" to "+left.To, leaveErr.Error())
	case j.Grace != nil && (*j.Grace < 0 || *j.Grace > maxGrace):
		return bad("grace", j.Grace.String(), "a time of at most "+maxGrace.String())
	case j.Begin < 0 || j.Deadline < 0 || j.Estimate < 0 || j.Time < 0 || j.Memory < 0 || j.Processes < 0 || j.Retries < 0:
		return bad("job", j.Name, "times and numbers that are not negative")
	}
	if err := j.componentError(); err != nil {
		return err
	}
	return j.checkBuild()
}
