// Package history estimates from what happened before: how much a program
// needs, how long clusters let jobs wait, how often they lose them, how fast
// files move, what saving costs, and how far our own quotes held. Its functions
// are pure: rows in, numbers with their uncertainty out. It must not know where
// the rows are kept nor what is decided with the answers.
package history

import "github.com/godwit-hpc/godwit/internal/sched/core"

// EstimateRows is how many rows an estimate looks at.
const EstimateRows = 500

// Outcome is how an attempt ended, from the cluster's point of view.
type Outcome string

const (
	Finished Outcome = "finished" // the program ended by itself with code 0
	// the program ended by itself with another code, or was killed for what it did: not the cluster's fault
	Failed    Outcome = "failed"
	Lost      Outcome = "lost"      // through no fault of the program: host, agent, sandbox or claim lost
	Moved     Outcome = "moved"     // saved and continued elsewhere because the deadline was in danger here
	Stopped   Outcome = "stopped"   // saved and stopped for another reason: asked by the user, room for others
	Cancelled Outcome = "cancelled" // by the user
)

// Run is one attempt of a job on one cluster, written when it is over.
type Run struct {
	Job     core.JobID `json:"job"`
	Epoch   core.Epoch `json:"epoch"`
	Cluster string     `json:"cluster"`
	User    string     `json:"user"`
	Program string     `json:"program"` // what is run, see Key
	Args    []string   `json:"args,omitempty"`
	Procs   int        `json:"procs"`
	Method  string     `json:"method"` // checkpoint method: sandbox, signal, exit85, srs, restart
	Outcome Outcome    `json:"outcome"`

	Requested core.Time `json:"requested"` // handed to the cluster
	Started   core.Time `json:"started"`   // began to run; 0 if it never did
	Ended     core.Time `json:"ended"`
	Deadline  core.Time `json:"deadline,omitempty"`

	Migrated bool `json:"migrated,omitempty"` // began elsewhere and was continued here
	// seconds that the job was expected to run when it was handed over; 0 if unknown
	Length float64 `json:"length,omitempty"`
	Speed  float64 `json:"speed"` // of the cluster
	CPU    float64 `json:"cpu"`   // seconds that this attempt used, on this cluster
	// Need is the reference CPU seconds of the whole job over all attempts that
	// counted. Known only of the attempt that finished; 0 else.
	Need float64 `json:"need,omitempty"`
	// Slowness is how many times longer than on the reference host the same took on
	// its processors while it ran, in the mean over the whole job. 0 if not known.
	Slowness float64 `json:"slowness,omitempty"`
	// Bytes is what the whole job read and wrote; Share the part of its processors
	// that this attempt had in the mean. 0 if not known.
	Bytes float64 `json:"bytes,omitempty"`
	Share float64 `json:"share,omitempty"`
	// Busy is the wall seconds in which the whole job computed, as on the reference
	// host with its processors for itself, Idle those in which it waited for something
	// else than a processor. Both 0 if not measured.
	Busy float64 `json:"busy,omitempty"`
	Idle float64 `json:"idle,omitempty"`
	// Changes is how often the share of its processors changed in this attempt.
	Changes int `json:"changes,omitempty"`
	// SandboxCost is how many times longer the program took in the sandbox, as
	// measured while it ran there. 0 if it was not.
	SandboxCost float64 `json:"sandboxCost,omitempty"`
	// Deviations tell how the predictions of this attempt held, see
	// predict.Watch.BandDeviations. Nil if there were none.
	Deviations []float64 `json:"deviations,omitempty"`
}

// WaitSeconds is how many seconds the cluster let the attempt wait; false if it never
// started.
func (r *Run) WaitSeconds() (float64, bool) {
	return max(0, r.Started.Sub(r.Requested).Seconds()), r.Started > 0
}

// WallSeconds is how many seconds the attempt ran.
func (r *Run) WallSeconds() float64 {
	if r.Started == 0 {
		return 0
	}
	return max(0, r.Ended.Sub(r.Started).Seconds())
}

// What of a Transfer.
const (
	StageIn  = "stage-in"
	StageOut = "stage-out"
	Save     = "save"    // of a checkpoint: from the program standing still until all is safe
	Restore  = "restore" // of a checkpoint: from fetching the first byte until the program runs
)

// Transfer is something that was moved, saved or restored.
type Transfer struct {
	At      core.Time  `json:"at"`
	Job     core.JobID `json:"job"`
	Epoch   core.Epoch `json:"epoch"`
	What    string     `json:"what"`
	From    string     `json:"from"` // cluster, or "" for the depot
	To      string     `json:"to"`
	Program string     `json:"program,omitempty"`
	Method  string     `json:"method,omitempty"`
	Bytes   int64      `json:"bytes"`            // of all that there is
	Sent    int64      `json:"sent"`             // of what was not there already
	Seconds float64    `json:"seconds"`          // until it was done
	Frozen  float64    `json:"frozen,omitempty"` // seconds the program stood still
}

// Quote is a forecast that was given, and, once that is known, what came of
// it. (Job, At, Cluster, Kind) names it.
type Quote struct {
	At      core.Time  `json:"at"`
	Job     core.JobID `json:"job,omitempty"` // 0 if nothing was submitted
	Cluster string     `json:"cluster"`
	Kind    string     `json:"kind"` // at submission: "quote"; while it ran: "running"
	Program string     `json:"program,omitempty"`
	Wait    float64    `json:"wait"` // expected seconds
	Move    float64    `json:"move"`
	Run     float64    `json:"run"`
	// Finish is the quantiles at Levels of the seconds from At to the end.
	Finish   []float64 `json:"finish,omitempty"`
	Deadline core.Time `json:"deadline,omitempty"`
	Chance   float64   `json:"chance"` // of meeting the deadline; -1 if there is none or nothing was known
	Reason   string    `json:"reason,omitempty"`
	// Ended is when the job ended on the cluster that the quote is about; 0 if
	// it has not, or went elsewhere.
	Ended core.Time `json:"ended,omitempty"`
}

// NLevels is how many quantiles a distribution is given by.
const NLevels = 13

// QuantileLevels are the probabilities of these quantiles.
func QuantileLevels() [NLevels]float64 {
	return [...]float64{0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99}
}
