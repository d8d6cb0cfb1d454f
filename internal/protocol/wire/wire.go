// Package wire is what broker and agent say to each other: the attempt an agent
// is started with, the messages it sends, the orders it gets. Messages that
// matter carry a number and are kept by the agent until the broker, having made
// them durable, acknowledges that number; a message may therefore arrive again,
// never out of order. Numbers grow but may leave gaps: an agent that takes over
// from one that died begins with a number larger than any the dead one can have
// used. Both sides speak in frames over one connection, see DialBroker and AcceptAgent.
// The package must not know how either side works.
package wire

import (
	"fmt"
	"math"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Attempt is one attempt to run a job, or one of its parts: all that an agent needs to know to
// run it to its end even if it never reaches the broker. The driver writes it to
// attempt.json in the attempt's folder.
type Attempt struct {
	Job     core.JobID  `json:"job"`
	Epoch   core.Epoch  `json:"epoch"`
	Part    int         `json:"part,omitempty"`
	Parts   int         `json:"parts,omitempty"` // of the job, if there are several: it begins when all are ready
	Mark    string      `json:"mark"`            // of every process of the attempt; not to be guessed
	Cluster string      `json:"cluster"`
	Spec    jobfile.Job `json:"spec"`
	Index   int         `json:"index,omitempty"`  // of an array job
	Parent  core.JobID  `json:"parent,omitempty"` // that array; 0 if the job is in none

	Procs  int          `json:"procs"`
	Held   core.ProcSet `json:"held,omitempty"`   // processors of the cluster it was given; empty: any
	CPUs   []int        `json:"cpus,omitempty"`   // it may run on these; nil: any; chosen by the driver for Held
	Cgroup string       `json:"cgroup,omitempty"` // that its processes join, as cgroup.Open takes it; made by the driver
	Speed  float64      `json:"speed"`            // of this cluster, relative to the reference host
	// path of its socket, or of the file that says where it is, see package gate
	Broker string `json:"broker"`
	Nice   int    `json:"nice,omitempty"` // set by the driver if it is 0
	// it is spread over these, the agent on the first; nil: over this one, or those that a manager names
	Hosts []Host `json:"hosts,omitempty"`
	// hosts of the cluster, in the order in which they suit the job's pattern; nil: any
	Order []string `json:"order,omitempty"`
	MPI   MPI      `json:"mpi,omitzero"`

	// Limit is the wall time after which the cluster's manager ends the attempt,
	// counted from the start of its agent; 0: never. The driver sets it.
	Limit time.Duration `json:"limit,omitempty"`

	Work  string  `json:"work,omitempty"`  // tree in the depot: the work folder at submission
	Saved []Saved `json:"saved,omitempty"` // checkpoints to continue from, newest first; the first sound one is used
	Every Every   `json:"every"`
	// how the share is foretold: fixed-n and mean are for comparison; "": by change points
	Rule string `json:"rule,omitempty"`

	Deadline core.Time `json:"deadline,omitempty"` // by the broker's clock
	// Promise is the wall seconds in which the whole program is to be done here; 0: nothing is promised.
	Promise float64   `json:"promise,omitempty"`
	Now     core.Time `json:"now"` // by the broker's clock, when this was written
	// quantiles (see predict.Levels) of the CPU seconds the whole job needs on the reference host; nil: unknown
	Need  []float64 `json:"need,omitempty"`
	Pace  Pace      `json:"pace,omitzero"`   // at which it needs that
	Bytes []float64 `json:"bytes,omitempty"` // quantiles of the bytes the whole job reads and writes; nil: unknown
	Alone Alone     `json:"alone,omitzero"`
	Band  Band      `json:"band,omitzero"`
	// part of its processors that the program takes when it has them for itself; 0: unknown
	Duty    float64       `json:"duty,omitempty"`
	Used    float64       `json:"used,omitempty"`    // CPU seconds (reference) earlier attempts put in that were not lost
	Elapsed time.Duration `json:"elapsed,omitempty"` // wall time of earlier attempts
	// Sandbox says what is known of running this program in the sandbox: how
	// many times longer it takes. 0: not known.
	SandboxCost float64  `json:"sandboxCost,omitempty"`
	CPUFeatures []string `json:"cpuFeatures,omitempty"` // shared by all clusters; nil: not to be masked
	// MTBF is the mean time between failures of this cluster, as far as they end
	// attempts. 0: not known.
	MTBF time.Duration `json:"mtbf,omitempty"`

	Inputs []Input `json:"inputs,omitempty"` // files that are put into the work folder besides
	// folder of a depot that may hold them; set on the way, where the cluster has one
	Brought string `json:"brought,omitempty"`
	// Outgoing is the folder into which results are put that are to be left at
	// clusters, set like Brought if the broker says FillInAtSite; "": they come home.
	Outgoing string `json:"outgoing,omitempty"`
}

// Alone is what is known of the job's wall time with its processors for itself, from
// how earlier runs of the program spent theirs.
type Alone struct {
	Seconds []float64 `json:"seconds,omitempty"` // quantiles, on the reference host, outside the sandbox; nil: unknown
	Waiting float64   `json:"waiting,omitempty"` // part of them in which it waits for something else than a processor
	// how many times longer it computes in the sandbox, Need also; 0: not known
	Sandbox float64 `json:"sandbox,omitempty"`
	Changes float64 `json:"changes,omitempty"` // how often the share of its processors changed on this cluster,
	Over    float64 `json:"over,omitempty"`    // in so many seconds
}

// Band is how much the two sides of predictions are stretched around their median, by how
// the predictions of earlier runs held, see predict.Band. 0: not.
type Band struct {
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
}

// Pace says how much of a program's CPU time depends on what else the core does.
// With a slowness s while it runs (see calibrate.Pulse) it takes (s/Usual)^Power
// times as long as usual: Power is 1 if it is held up like the work of the pulse,
// more if even more, 0 if it does not care, because it waits for memory, say.
type Pace struct {
	Usual float64 `json:"usual"` // slowness in the mean of its runs; 0: not known
	Power float64 `json:"power"`
}

// SlowFactor is how many times longer than usual the program takes at a slowness; 1 if
// either is not known.
func (p Pace) SlowFactor(slowness float64) float64 {
	if !(p.Usual > 0) || !(slowness > 0) {
		return 1
	}
	return math.Pow(slowness/p.Usual, p.Power)
}

// FillInAtSite stands for what is not known where an attempt comes from.
const FillInAtSite = "."

// Host is a part of an attempt's processors, by the name under which the other
// hosts reach it.
type Host struct {
	Name  string `json:"name"`
	Procs int    `json:"procs"`
}

// MPI is what is peculiar to parallel programs on a cluster.
type MPI struct {
	Yield   bool   `json:"yield,omitempty"`   // ranks that wait leave the processor alone
	Network string `json:"network,omitempty"` // over which they talk, as Open MPI takes it: eth1, 10.0.0.0/24; "": any
}

// Every is how often things are done.
type Every struct {
	Sample time.Duration `json:"sample"` // default 2 s
}

// Saved is a checkpoint that is safe in the depot.
type Saved struct {
	N      int           `json:"n"`     // counts the checkpoints of the job
	Epoch  core.Epoch    `json:"epoch"` // of the attempt that made it
	Method string        `json:"method"`
	At     core.Time     `json:"at"`
	Image  string        `json:"image,omitempty"` // tree in the depot; "" if the method has none
	Work   string        `json:"work"`            // tree in the depot: the work folder at that moment
	Out    int64         `json:"out"`             // bytes of stdout and stderr written until then
	Err    int64         `json:"err"`
	Used   float64       `json:"used"`           // CPU seconds (reference) put in until then
	Slow   float64       `json:"slow,omitempty"` // Vitals.Slowness until then
	Busy   float64       `json:"busy,omitempty"` // Vitals.Busy until then
	Idle   float64       `json:"idle,omitempty"` // Vitals.Idle until then
	IO     int64         `json:"io,omitempty"`   // bytes the job read and wrote until then
	Bytes  int64         `json:"bytes"`          // of image and work folder
	Moved  int64         `json:"moved"`          // that had to be sent
	Frozen time.Duration `json:"frozen"`         // how long the program stood still
	Took   time.Duration `json:"took"`           // until it was safe
	// StepsDone of StepsAll is what the program had reported, if the image is of its memory: it does not say so again.
	StepsDone uint64 `json:"steps_done,omitempty"`
	StepsAll  uint64 `json:"steps_all,omitempty"`
	// Exported are variables (NAME=VALUE) that the job's setup line left, if the image
	// does not hold them: the program is continued with them.
	Exported []string `json:"exported,omitempty"`
	// Cluster and Ordered are for the broker to say: where it was made, and whether
	// somebody told the agent to.
	Cluster string `json:"cluster,omitempty"`
	Ordered bool   `json:"ordered,omitempty"`
	// Sending is how much of that it took to send what had to be; 0 if that was
	// interrupted, so that it tells nothing of the network.
	Sending time.Duration `json:"sending,omitempty"`
}

// Kind says what a message or an order is.
type Kind string

// What an agent tells the broker.
const (
	// first on every connection: Job, Epoch, Part, Mark, Version, Release; answered by Ack with the last number that
	// the broker has of this attempt
	Hello Kind = "hello"
	// all but the program is prepared, and the agents of the other parts are waited for: Hosts; Slots and Meet, if the
	// parts are one MPI program
	Ready Kind = "ready"
	// the program runs: Method, Hosts, Why, Carried; Saved: the checkpoint it continues, nil if it
	// began from the beginning; State.Prepared: seconds until it ran
	Running Kind = "running"
	Status  Kind = "status" // only while somebody watches; not numbered
	// Stream, Offset, Data: the stream is Offset + len(Data) long now, whatever it was before; Data may be empty
	Output     Kind = "output"
	Ask        Kind = "ask"       // the deadline is in danger: State
	Violated   Kind = "violated"  // the contract is: Contract, State
	Checkpoint Kind = "saved"     // Saved
	NotSaved   Kind = "not-saved" // a save that was ordered or due failed: Why
	// stopped as ordered, or saved itself and left; State; Saved if it was saved now, else it goes on
	// from the last checkpoint there is, or from the beginning
	Left       Kind = "left"
	StaysOn    Kind = "stays-on"   // could not be stopped as ordered and runs on: Why
	Ended      Kind = "ended"      // Code, Why, State; Result and Carried if the work folder changed
	Lost       Kind = "lost"       // the attempt was lost through no fault of the program: Why, State
	Collecting Kind = "collecting" // the program was cancelled and has ended; its files are on their way; Ended follows
	Note       Kind = "note"       // for explain: Entry
	Accepted   Kind = "accepted"   // the program will have Size processors: its answer to Offer
	// the program is stopped as its user wants, or could not be: Why
	Suspended  Kind = "suspended"
	SizeWanted Kind = "wanted" // the program wants Size processors, and uses no more than that; Offer counts these
)

// What the broker tells an agent.
const (
	Ack  Kind = "ack"  // all messages up to Seq are durable
	Stop Kind = "stop" // save, leave: answered by Left, StaysOn, Ended or Lost
	Save Kind = "save" // answered by Checkpoint or NotSaved
	// all parts are ready: run the program; Contacts; answered by Running, Ended or Lost
	Begin Kind = "begin"
	// end the program: SIGTERM, SIGKILL after Within, and bring what it wrote: answered by Collecting and Ended
	Cancel Kind = "cancel"
	Kill   Kind = "kill"   // end everything; no answer but the end of the connection
	Watch  Kind = "watch"  // send Status every Every; 0: no more
	Limits Kind = "limits" // nothing is done about a violated contract: its limits go to where the program is
	Answer Kind = "answer" // to Ask: Why; the agent asks again only when things got worse, or after a while
	Offer  Kind = "offer"  // the program could have Size processors, or has to do with that by By: answered by Accepted
	// stop the program, which keeps its processors: answered by Suspended; Continue: let it go on; no answer
	Suspend  Kind = "suspend"
	Continue Kind = "continue"
	Inform   Kind = "inform" // its deadline is By by now; 0: it has none
	Resize   Kind = "resize" // it has Size processors, its answers up to that to Offer included; it may run on CPUs
)

// Version is that of what is said here, OldestVersion the oldest that is still understood: agents
// outlive the broker that started them, so a new broker hears agents of the last release. It
// grows with every change that the other side has to know of.
//
//	1  agents that say no version
//	2  orders carry Epoch and Serial; an agent drops those of another epoch and those that came late
const (
	Version       = 2
	OldestVersion = 1
)

// SpokenVersion is the version that an agent speaks which says Hello.
func (m *Message) SpokenVersion() int { return max(m.Version, 1) }

// CheckVersion says why this side cannot speak with an agent; nil: it can.
func (m *Message) CheckVersion() error {
	v := m.SpokenVersion()
	if v >= OldestVersion && v <= Version {
		return nil
	}
	release := ""
	if m.Release != "" {
		release = " (release " + m.Release + ")"
	}
	if v > Version {
		return fmt.Errorf("the agent%s speaks version %d of the protocol and is too new for this broker, which speaks "+
			"versions %d to %d", release, v, OldestVersion, Version)
	}
	return fmt.Errorf("the agent%s speaks version %d of the protocol and is too old for this broker, which speaks "+
		"versions %d to %d", release, v, OldestVersion, Version)
}

// Message is one frame from agent to broker.
type Message struct {
	Seq   uint64     `json:"seq,omitempty"`
	Kind  Kind       `json:"kind"`
	Job   core.JobID `json:"job,omitempty"`
	Epoch core.Epoch `json:"epoch,omitempty"`
	Part  int        `json:"part,omitempty"`
	Mark  string     `json:"mark,omitempty"`
	// Version and Release are, of Hello, those of the agent; 0: it is of before versions were told.
	Version int    `json:"version,omitempty"`
	Release string `json:"release,omitempty"`

	Method string   `json:"method,omitempty"`
	Hosts  []string `json:"hosts,omitempty"`
	Why    string   `json:"why,omitempty"`
	// Cause is, of Lost, and of Left that nobody ordered: jobfile.NodeFail, jobfile.Preempted; of
	// Lost also WorkDamaged; of Ended: jobfile.OutOfMemory, jobfile.TimeLimit. "": not known, or
	// the program's own end.
	Cause    string         `json:"cause,omitempty"`
	Stream   int            `json:"stream,omitempty"` // 1 stdout, 2 stderr
	Offset   int64          `json:"offset,omitempty"`
	Data     []byte         `json:"data,omitempty"`
	Saved    *Saved         `json:"saved,omitempty"`
	State    *Vitals        `json:"state,omitempty"`
	Contract *ContractState `json:"contract,omitempty"`
	Code     int            `json:"code,omitempty"`
	Result   string         `json:"result,omitempty"` // tree in the depot: what the work folder held at the end
	// Outgoing is a folder beside the agent with results that are to be left at
	// clusters: a folder for each of Spec.Leave, by its number. "": there are none.
	Outgoing string `json:"outgoing,omitempty"`
	// Carried is what came from the broker before it was Running, or went there when
	// it had Ended.
	Carried Carried `json:"carried,omitzero"`
	Entry   *Entry  `json:"entry,omitempty"`
	// Size is a number of processors, Offer the number of an offer of them, or of a wish for some.
	Size  int `json:"size,omitempty"`
	Offer int `json:"offer,omitempty"`
	// Slots are, of Ready, the processors on each of Hosts; Meet where the other parts of a job that is one MPI
	// program reach this agent. Peer is, of Lost because of Unreachable, the part that could not be reached.
	Slots []int                  `json:"slots,omitempty"`
	Meet  *rendezvous.Rendezvous `json:"meet,omitempty"`
	Peer  int                    `json:"peer,omitempty"`
}

// Unreachable is the Cause of an attempt of one of several parts that has to reach the others and does not.
const Unreachable = "unreachable"

// WorkDamaged is the Cause of an attempt whose work folder, as it was submitted, cannot
// be had from the depot any more.
const WorkDamaged = "work_damaged"

// Carried is how much went over the way between a cluster and the broker, and how long
// that took; 0 if it was interrupted, so that it tells nothing of the network.
type Carried struct {
	Bytes int64         `json:"bytes"`
	Took  time.Duration `json:"took"`
}

// ContractState is how a program keeps what was promised of it.
type ContractState struct {
	Promise float64 `json:"promise_s"` // of the whole program, where it runs
	Done    float64 `json:"done"`      // part of it that is done
	Ratio   float64 `json:"ratio"`     // actual time of the last phase / promised time
	Average float64 `json:"average"`   // of all phases
	Limit   float64 `json:"limit"`     // the upper one, at present
	Left    float64 `json:"left_s"`    // seconds of the rest, corrected by the ratio at which it runs now
	Bias    float64 `json:"bias"`      // the ratio before that: by which factor the promise was wrong
	Spread  float64 `json:"spread"`    // of the ratios then, as a standard deviation of the logarithm
	Phases  int     `json:"phases"`    // of then
	// Ratios are those so far, thinned: [part done, ratio].
	Ratios [][2]float64 `json:"ratios,omitempty"`
}

// Vitals is how a job is doing.
type Vitals struct {
	CPU     float64 `json:"cpu_s"`  // of this attempt, seconds on this host
	Used    float64 `json:"used_s"` // of the whole job, reference seconds
	Wall    float64 `json:"wall_s"` // of this attempt: how long its program has run
	Share   float64 `json:"share"`  // CPU share now, of the processors asked for
	Mean    float64 `json:"mean_share"`
	Memory  int64   `json:"memory"`
	Peak    int64   `json:"peak_memory,omitempty"` // the most it has had resident in this attempt
	Read    int64   `json:"read"`
	Written int64   `json:"written"`
	Done    float64 `json:"done"` // part of the work done, 0 to 1; -1 if unknown
	// quantiles (predict.Levels) of the remaining wall seconds here; nil if unknown
	Left []float64 `json:"left,omitempty"`
	// quantiles of the processor seconds left on the reference host, if it continues from where it is
	Work []float64 `json:"work,omitempty"`
	// part of Work in which the program waits for something else than a processor
	Waiting float64 `json:"waiting,omitempty"`
	// wall seconds in which the whole job computed, as on the reference host at full share
	Busy    float64 `json:"busy_s,omitempty"`
	Idle    float64 `json:"idle_s,omitempty"`  // and in which it waited for something else than a processor
	Ran     float64 `json:"ran_s,omitempty"`   // wall seconds of this attempt's program
	Changes int     `json:"changes,omitempty"` // of the share in this attempt
	Chance  float64 `json:"chance"`            // of meeting the deadline here; -1 if unknown
	Model   string  `json:"model,omitempty"`   // what predicts: cpu, wall, io, steps
	// seconds to save, move and restore, as it took last time; 0: not known here
	SaveCost float64 `json:"save_s,omitempty"`
	Method   string  `json:"method,omitempty"`
	// SandboxCost is how many times longer the program takes in the sandbox, as
	// far as this attempt could measure or estimate it; 0: it could not. For the
	// next attempt of the same program, see Attempt.
	SandboxCost float64 `json:"sandbox_cost,omitempty"`
	// Prepared is how long it took until the program ran, in Running; agents of before
	// said that in Wall.
	Prepared float64 `json:"prepared_s,omitempty"`
	// Slowness is how many times longer than on the reference host the same takes on
	// the processors it runs on, in the mean over the job; 0: not known.
	Slowness float64 `json:"slowness,omitempty"`
	// Deviations tell how the predictions of an attempt held, when it has ended, see
	// predict.Watch.BandDeviations.
	Deviations []float64 `json:"deviations,omitempty"`
	// Hosts are those of an attempt that has several, as far as anything was heard of them; it is of one agent.
	Hosts []HostUsage `json:"hosts,omitempty"`
}

// HostUsage is how an attempt does on one of its hosts.
type HostUsage struct {
	Host       string  `json:"host"`
	CPU        float64 `json:"cpu_s"`
	Share      float64 `json:"share"` // of its processors there, now; -1: not known
	Memory     int64   `json:"memory"`
	Ranks      string  `json:"ranks,omitempty"`       // of parallel programs, that run there, as in 0-3,8
	EndedRanks int     `json:"ended_ranks,omitempty"` // that have ended there
	Away       string  `json:"away,omitempty"`        // why nothing is heard from there; the rest is as it was last heard
}

// Order is one frame from broker to agent.
type Order struct {
	Kind  Kind          `json:"kind"`
	Seq   uint64        `json:"seq,omitempty"`
	Every time.Duration `json:"every,omitempty"`
	By    core.Time     `json:"by,omitempty"`
	Why   string        `json:"why,omitempty"`
	// Within is the time of grace of Cancel; 0: none.
	Within time.Duration `json:"within,omitempty"`
	// Epoch is of which attempt this is; an agent of another one does nothing. Serial counts the orders of a
	// job that are given again until they are answered: Stop, Cancel, Save. One that is lower than that of an
	// order of its kind obeyed before has no effect, and a Save is obeyed once. 0: from a broker that numbers none.
	Epoch  core.Epoch `json:"epoch,omitempty"`
	Serial uint64     `json:"serial,omitempty"`
	// Contacts are where all parts of the job are, in Begin.
	Contacts []Contact `json:"contacts,omitempty"`
	// Size is a number of processors, Offer the number of an offer of them.
	Size  int    `json:"size,omitempty"`
	Offer int    `json:"offer,omitempty"`
	CPUs  string `json:"cpus,omitempty"` // as core.ProcSet writes them; "": as before
}

// Entry is one line of explain.
type Entry struct {
	At     core.Time      `json:"at"`
	Kind   string         `json:"kind"` // place, method, predict, ask, decide, checkpoint, move, end …
	Choice string         `json:"choice"`
	Why    string         `json:"why"`
	Inputs map[string]any `json:"inputs,omitempty"`
}
