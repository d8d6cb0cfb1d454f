package store

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Job is a job as its user sees it. Fields may be added: what an older version
// wrote lacks them. What it is found by, and its description, never change.
type Job struct {
	ID        core.JobID   `json:"-"` // the short number
	Unique    string       `json:"-"`
	User      string       `json:"-"`
	Owner     uint32       `json:"owner,omitempty"` // the user by number, of a broker of several; 0: the broker's own
	Submitted core.Time    `json:"-"`
	Parent    core.JobID   `json:"-"` // the array it belongs to; 0 if none
	Spec      *jobfile.Job `json:"-"` // nil in a batch leaves it, Unique, User, Submitted and Parent as they are

	Index   int        `json:"index,omitempty"` // in the array
	State   core.State `json:"state"`
	Cluster string     `json:"cluster,omitempty"`
	Hosts   []string   `json:"hosts,omitempty"`
	Procs   string     `json:"procs,omitempty"`
	Offered string     `json:"offered,omitempty"` // processors that it could have besides, if it takes them
	// Size is how many processors all parts have: which they are only the manager of a cluster knows that has one. 0: it
	// was not written down.
	Size   int        `json:"size,omitempty"`
	Epoch  core.Epoch `json:"epoch,omitempty"`
	Mark   string     `json:"mark,omitempty"`   // of the processes of that attempt
	Method string     `json:"method,omitempty"` // checkpoint method of that attempt
	Seq    uint64     `json:"seq,omitempty"`    // last message of that attempt that is durable
	// Orders counts the orders to the job's agents that are given again until they are answered; StopOrder is
	// the number of the last Stop or Cancel, SaveOrder that of a Save that is not answered yet.
	Orders    uint64 `json:"orders,omitempty"`
	StopOrder uint64 `json:"stopOrder,omitempty"`
	SaveOrder uint64 `json:"saveOrder,omitempty"`
	// Parts are those of that attempt, if there are several: Cluster, Hosts, Procs and Method are then of
	// the first. Whoever changes one changes a copy of all, see EditPart.
	Parts []Part `json:"parts,omitempty"`

	Started  core.Time `json:"started,omitempty"` // for the first time
	Ended    core.Time `json:"ended,omitempty"`
	Code     int       `json:"code,omitempty"` // exit code
	Deadline core.Time `json:"deadline,omitempty"`
	// Promise is the seconds that were promised of the present attempt's placement, were it to run the whole job; 0: none.
	Promise float64 `json:"promise,omitempty"`
	Chance  float64 `json:"chance,omitempty"` // of meeting it, as last told
	Known   bool    `json:"known,omitempty"`  // Chance is

	Runs        int     `json:"runs,omitempty"`   // attempts that have begun to run
	Losses      int     `json:"losses,omitempty"` // of which were lost
	Migrations  int     `json:"migrations,omitempty"`
	Checkpoints int     `json:"checkpoints,omitempty"`
	CPU         float64 `json:"cpu,omitempty"`  // seconds
	Wall        float64 `json:"wall,omitempty"` // seconds that its program ran, in all attempts that are over
	Peak        int64   `json:"peak,omitempty"` // the most memory it had resident in any of them
	// seconds of Wall in which it waited for something else than a processor, once it has finished
	Waiting float64 `json:"waiting,omitempty"`
	// reference CPU seconds that are safe: what a continued attempt starts with
	Used float64 `json:"used,omitempty"`

	Work      string `json:"work,omitempty"`      // tree in the depot: the work folder at submission
	Result    string `json:"result,omitempty"`    // tree in the depot: the work folder at the end
	Outgoing  string `json:"outgoing,omitempty"`  // folder at its cluster with results that are to be left at others
	Delivered bool   `json:"delivered,omitempty"` // those who wait for it were told that it is over
	StagedOut bool   `json:"stagedOut,omitempty"`
	Out       int64  `json:"out,omitempty"` // bytes of stdout and stderr that are durable
	Err       int64  `json:"err,omitempty"`
	Reason    string `json:"reason,omitempty"` // why it is in this state
	// jobfile.OutOfMemory, jobfile.TimeLimit; "": the program's own, or none
	Failure   string   `json:"failure,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`  // what its user should know of how it ran
	OutputCut bool     `json:"outputCut,omitempty"` // output beyond what is in its log was not kept
	Named     bool     `json:"named,omitempty"`     // what it wrote is to be put into files of the user as well
	// NamesOutputs says that its user did: it is looked whether they are there.
	NamesOutputs bool `json:"namesOutputs,omitempty"`
	// Partial says that Result is what there was of a job that did not run to its
	// end, FromCheckpoint that it is of this checkpoint.
	Partial        bool     `json:"partial,omitempty"`
	FromCheckpoint int      `json:"fromCheckpoint,omitempty"`
	Lost           bool     `json:"lost,omitempty"`    // what its last attempt wrote is
	Missing        []string `json:"missing,omitempty"` // outputs that its user named and that are not there

	Inputs    []Input   `json:"inputs,omitempty"`    // that did not come with its work folder
	After     []Wait    `json:"after,omitempty"`     // what it waits for before it is placed
	NotBefore core.Time `json:"notBefore,omitempty"` // likewise; 0: no moment
	Held      bool      `json:"held,omitempty"`      // its user keeps it from being placed
	Suspended core.Time `json:"suspended,omitempty"` // since then its program is stopped, as its user wants; 0: it is not
	Redated   bool      `json:"redated,omitempty"`   // its deadline is another than the one its agents began with
	// Changed is what its user has changed of its description since it was submitted; nil: nothing.
	Changed *Changed `json:"changed,omitempty"`
	// cluster for which its user or its workflow wants it to wait; "": any
	PinnedTo string `json:"pinnedTo,omitempty"`
}

// Changed is what the user of a job has changed of its description.
type Changed struct {
	Name   string            `json:"name,omitempty"`   // "": as it was
	Labels map[string]string `json:"labels,omitempty"` // all of them; nil: as they were, unless it has none by now
	NoneOf bool              `json:"noLabels,omitempty"`
	On     []string          `json:"on,omitempty"` // where it may run; none: as it was, unless that is anywhere
	Any    bool              `json:"anywhere,omitempty"`
}

// CurrentSpec is the description of a job as its user has changed it.
func (j *Job) CurrentSpec() *jobfile.Job {
	if j.Spec == nil || j.Changed == nil {
		return j.Spec
	}
	spec, c := *j.Spec, j.Changed
	if c.Name != "" {
		spec.Name = c.Name
	}
	if c.Labels != nil || c.NoneOf {
		spec.Labels = c.Labels
	}
	if len(c.On) > 0 || c.Any {
		spec.On = c.On
	}
	return &spec
}

// applyUpdate notes what the user of a job has changed of it.
func (j *Job) applyUpdate(ev *core.Event) {
	c := ev.Change
	if c.Deadline != nil {
		j.Deadline, j.Known, j.Redated = *c.Deadline, false, true
	}
	if c.Begin != nil {
		j.NotBefore = *c.Begin
	}
	if c.Name == "" && len(c.Labels) == 0 && !c.Anywhere && len(c.On) == 0 {
		return
	}
	var changed Changed
	if j.Changed != nil {
		changed = *j.Changed
	}
	if c.Name != "" {
		changed.Name = c.Name
	}
	if spec := j.CurrentSpec(); spec != nil && len(c.Labels) > 0 {
		changed.Labels = c.ChangeLabels(spec.Labels)
		changed.NoneOf = len(changed.Labels) == 0
	}
	if c.Anywhere || len(c.On) > 0 {
		changed.On, changed.Any = c.On, c.Anywhere
	}
	j.Changed = &changed
}

// Part is a part of a job in the present attempt.
type Part struct {
	Cluster string   `json:"cluster"`
	Hosts   []string `json:"hosts,omitempty"`
	Procs   string   `json:"procs,omitempty"`
	Offered string   `json:"offered,omitempty"`
	Seq     uint64   `json:"seq,omitempty"` // last message of its agent that is durable
	Out     int64    `json:"out,omitempty"` // bytes of its stdout and stderr that are durable, of all but the first
	Err     int64    `json:"err,omitempty"`

	// Slots are the cores on each of Hosts and Meet where its agent is reached by the others, of a job that is one MPI
	// program. Nobody is shown Meet: it is as good as a password.
	Slots []int                  `json:"slots,omitempty"`
	Meet  *rendezvous.Rendezvous `json:"meet,omitempty"`

	Began      bool      `json:"began,omitempty"`      // its program has
	Collecting bool      `json:"collecting,omitempty"` // it was ended, and its files are on their way
	Ended      core.Time `json:"ended,omitempty"`      // when its agent told its end; 0: it has not
	Code       int       `json:"code,omitempty"`       // exit code
	Why        string    `json:"why,omitempty"`        // what its agent says of that
	Cause      string    `json:"cause,omitempty"`      // jobfile.OutOfMemory, jobfile.TimeLimit; "": the program's own
	Result     string    `json:"result,omitempty"`     // tree in the depot: its work folder at the end, if that changed
	CPU        float64   `json:"cpu,omitempty"`        // seconds
	Peak       int64     `json:"peak,omitempty"`       // the most memory it had resident
}

// PartCount is how many parts the present attempt has: 1 for the ordinary job.
func (j *Job) PartCount() int { return max(1, len(j.Parts)) }

// EditPart is a part that may be changed: others may be looking at the list as it was.
func (j *Job) EditPart(part int) *Part {
	j.Parts = slices.Clone(j.Parts)
	return &j.Parts[part]
}

// LastMessage is the number of the last message of the agent of a part that is durable.
func (j *Job) LastMessage(part int) uint64 {
	if len(j.Parts) == 0 {
		return j.Seq
	}
	return j.Parts[part].Seq
}

// SetLastMessage notes that a message of the agent of a part is durable.
func (j *Job) SetLastMessage(part int, seq uint64) {
	if len(j.Parts) == 0 {
		j.Seq = seq
		return
	}
	j.EditPart(part).Seq = seq
}

// SetOutputLength notes how much of what the program of a part wrote is durable.
func (j *Job) SetOutputLength(part, stream int, n int64) {
	out, err := &j.Out, &j.Err
	if part > 0 {
		p := j.EditPart(part)
		out, err = &p.Out, &p.Err
	}
	if stream == 2 {
		out = err
	}
	*out = n
}

// Input is a file or a folder at a site, or in the depot: what its agent will be told
// of it, and what the broker knows besides.
type Input struct {
	wire.Input        // with the Path at its site, and the Tree once the depot has it
	Site       string `json:"site"` // cluster; or that it is in the depot
	Size       int64  `json:"size"` // -1: not known
	ModTime    int64  `json:"modTime,omitempty"`
	Away       string `json:"away,omitempty"`      // why it could not be looked at when the job was submitted
	Component  int    `json:"component,omitempty"` // the component that it is for alone, from 1 on; 0: all
}

// IsFor reports whether a component of the job, by its number from 0 on, gets the input.
func (in *Input) IsFor(component int) bool { return in.Component == 0 || in.Component == component+1 }

// Wait is a job, or a whole array, and what must have happened to it.
type Wait struct {
	Job   core.JobID   `json:"job"` // or that of the array
	Array bool         `json:"array,omitempty"`
	When  jobfile.When `json:"when,omitempty"`
}

// IsOpen reports whether the broker still has work with the job: it is not over,
// or its results are not home yet.
func (j *Job) IsOpen() bool {
	return !j.State.IsTerminal() || j.HasResults() && !j.StagedOut
}

// HasResults reports whether there is something to be put somewhere, or to be looked
// for, when it is over.
func (j *Job) HasResults() bool {
	return j.Result != "" || j.Named || j.Outgoing != "" || j.NamesOutputs && j.Started != 0
}
