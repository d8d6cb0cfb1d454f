package core

import "time"

// Input is what the outside tells the engine. Like an event it is flat; each
// kind says which fields it uses. What one attempt of a job says must arrive in
// the order in which it was said; it may arrive late, and again.
type Input struct {
	Kind      InputKind    `json:"kind"`
	Job       JobID        `json:"job,omitempty"`
	Epoch     Epoch        `json:"epoch,omitempty"`
	Part      int          `json:"part,omitempty"`
	Cluster   ClusterID    `json:"cluster,omitempty"`
	N         int          `json:"n,omitempty"`
	Procs     ProcSet      `json:"procs,omitempty"`
	Done      float64      `json:"done,omitempty"`
	Mandatory bool         `json:"mandatory,omitempty"`
	Serial    int          `json:"serial,omitempty"`
	Aim       Aim          `json:"aim,omitempty"`
	ExitCode  int          `json:"exit_code,omitempty"`
	Cause     string       `json:"cause,omitempty"`
	Final     bool         `json:"final,omitempty"`
	Barred    bool         `json:"barred,omitempty"`
	Immediate bool         `json:"immediate,omitempty"`
	NeverRan  bool         `json:"never_ran,omitempty"`
	Reachable bool         `json:"reachable,omitempty"`
	Share     float64      `json:"share,omitempty"`
	QueueWait int          `json:"queue_wait,omitempty"`
	Rating    float64      `json:"rating,omitempty"`
	Why       Reason       `json:"why,omitzero"`
	Outlook   *Outlook     `json:"outlook,omitempty"`
	Spec      *Job         `json:"spec,omitempty"`
	Net       *Network     `json:"net,omitempty"`
	Grid      *ClusterSpec `json:"grid,omitempty"`
	Drain     *Drain       `json:"drain,omitempty"`
	Change    *Change      `json:"change,omitempty"`
	Hold      bool         `json:"hold,omitempty"`
	// Grace is the time between SIGTERM and SIGKILL, Attended that somebody is
	// there who can send them and fetch the files.
	Grace    time.Duration `json:"grace,omitempty"`
	Attended bool          `json:"attended,omitempty"`
	Array    JobID         `json:"array,omitempty"`
	Outcome  State         `json:"outcome,omitempty"`
	// Undescribed says that what is known of a job has to be asked for before it can
	// be placed.
	Undescribed bool        `json:"undescribed,omitempty"`
	Assessment  *Assessment `json:"assessment,omitempty"`
}

// InputKind says what is being told.
type InputKind uint8

const (
	Tick      InputKind = iota // the moment the engine asked to be woken at
	Submit                     // Spec; Aim, if it is to wait for that cluster alone; Undescribed; Hold
	Cancel                     // Job: by its user; Attended, Grace; Immediate: it is not waited for any longer
	StopJob                    // Job: save, leave and be placed again, where Aim says if it can; by its user
	Staged                     // Job, Epoch, Part: files arrived
	Claimed                    // Job, Epoch, Part: the cluster holds the processors for us
	ClaimLost                  // Job, Epoch, Part: somebody else has them; Barred: the cluster will never have the job
	Started                    // Job, Epoch: all parts run
	Answer                     // Job, Epoch, Part: N of the offer Serial accepted (0: of the open one); Done
	Granted                    // Job, Epoch, Part: the manager has given N of those accepted of the offer Serial
	// Job, Epoch, Part: the N highest-numbered given back by the job itself; Serial counts them up (0: not numbered); Done
	GiveBack
	Ask      // Job, Epoch, Part: the job wants N more; Mandatory
	Progress // Job, Epoch: Done
	InDanger // Job, Epoch: its deadline is; Outlook
	Left     // Job, Epoch: saved itself and left after a stop
	StaysOn  // Job, Epoch: was told to stop, could not be saved and runs on
	Ended    // Job, Epoch: its program has, with ExitCode
	// Job, Epoch: ended through no fault of its own; Cause, if it is known; Final: another would end the same way
	Crashed
	Polled    // Cluster: Procs are used by others, or on hosts that are out of reach
	HostsDown // Cluster: Procs failed
	HostsUp   // Cluster: Procs are there (again)
	// Cluster: Reachable or not; a new job would wait QueueWait seconds in its queue and get Share of a core there
	Felt
	Rated         // Cluster: it is expected to bring the part Rating of its jobs to their end
	Weather       // Cluster: how well its hosts are connected is Net
	Migrate       // Job: to Aim, else where Outlook says it ends soonest, else where its policy says; by its user
	ResizeJob     // Job, Epoch: its user wants it to have N processors from now on; 0: what the policy gives it
	DefineCluster // Cluster: what it consists of is Grid; the number after the last adds one
	Collecting    // Job, Epoch: was cancelled and has ended; its files are being fetched
	Returned      // Job, of Array, has ended as Outcome, and its results are where they belong; NeverRan
	Routed        // Job, Epoch: the way was chosen on which input N comes to Cluster: from Aim, or through the broker; Why
	Described     // Job: what is known of it by now is Spec; none: there is no cluster where it may run
	// Cluster: nothing new is placed on it, or on the host that Drain names; by whom and why
	DrainCluster
	// Cluster: it, or the host that Drain names, is used again; by whom
	UndrainCluster
	// Cluster: its hosts and those of Aim cannot reach each other, as the parts of Job (Epoch) found out, or as was
	// measured (Job 0); Reachable: they can, as was measured
	FoundApart
	HoldJob    // Job: is not placed until its user releases it; by its user
	ReleaseJob // Job: may be placed again; by its user
	// Job: goes back to where it waits to be placed, saved if it runs; Hold: and stays there until its user releases it
	RequeueJob
	SuspendJob     // Job: its program stops and keeps its processors; by its user
	ContinueJob    // Job: its program goes on; by its user
	UpdateJob      // Job: Change; by its user
	ContractBroken // Job, Epoch: its program is slower than promised, beyond the limits; Done; Why
	Assessed       // Job, Epoch: what is predicted of it is Assessment; none: nothing
)

var inputNames = [...]string{
	Tick: "tick", Submit: "submit", Cancel: "cancel", StopJob: "stop-job", Staged: "staged",
	Claimed: "claimed", ClaimLost: "claim-lost", Started: "started", Answer: "answer", Granted: "granted",
	GiveBack: "give-back", Ask: "ask", Progress: "progress", Left: "left", Ended: "ended",
	Crashed: "crashed", Polled: "polled", HostsDown: "hosts-down", HostsUp: "hosts-up",
	InDanger: "in-danger", StaysOn: "stays-on", Felt: "felt", Rated: "rated", Weather: "weather", Migrate: "migrate",
	ResizeJob:     "resize-job",
	DefineCluster: "define-cluster",
	Collecting:    "collecting", Returned: "returned", Described: "described", Routed: "routed",
	DrainCluster: "drain-cluster", UndrainCluster: "undrain-cluster", FoundApart: "found-apart",
	HoldJob: "hold-job", ReleaseJob: "release-job", RequeueJob: "requeue-job", SuspendJob: "suspend-job",
	ContinueJob: "continue-job", UpdateJob: "update-job",
	ContractBroken: "contract-broken", Assessed: "assessed",
}

func (k InputKind) String() string { return nameOf(inputNames[:], int(k)) }

// Command is what the engine wants done. Carrying one out twice has the
// effect of carrying it out once: (Job, Epoch, Part) names the attempt.
type Command struct {
	Kind      CommandKind `json:"kind"`
	Job       JobID       `json:"job"`
	Epoch     Epoch       `json:"epoch"`
	Part      int         `json:"part,omitempty"`
	Cluster   ClusterID   `json:"cluster,omitempty"`
	N         int         `json:"n,omitempty"`
	Procs     ProcSet     `json:"procs,omitempty"`
	Due       Time        `json:"due,omitempty"`
	Mandatory bool        `json:"mandatory,omitempty"`
	Terminate bool        `json:"terminate,omitempty"`
	Serial    int         `json:"serial,omitempty"`
}

// CommandKind says what is to be done.
type CommandKind uint8

const (
	_     CommandKind = iota
	Stage             // Part: bring its missing files to Cluster; answered by Staged
	Claim             // Part: take N processors (Procs, if we choose them) of Cluster; answered by Claimed or ClaimLost
	Start             // run it; a job of one part claims with the same command; answered by Started or ClaimLost
	// Part: N more, or fewer (the highest-numbered) if negative; answered by Answer with the same
	// Serial; until Due if Mandatory, after that nobody waits for it otherwise
	Offer
	// Part: have the manager of Cluster give it N more processors until Due; answered by Granted with the same Serial
	Acquire
	Stop     // save and leave until Due; Terminate: end until Due; answered by Left, StaysOn, Ended or Crashed
	Release  // forget whatever this epoch holds or asked for; no answer
	Describe // say what is known of the job by now; answered by Described
	Suspend  // stop the program, or have it go on, as the job is suspended or not; no answer
	Inform   // tell the agents of the job's deadline, which is another now; no answer
	// say what is predicted of the job, which has N processors, Procs, of Cluster, there and elsewhere; answered by
	// Assessed
	Assess
	RaiseLimits // nothing is done about a violated contract: its limits go to where the program is; no answer
)

var commandNames = [...]string{
	Stage: "stage", Claim: "claim", Start: "start", Offer: "offer", Acquire: "acquire", Stop: "stop", Release: "release",
	Describe: "describe", Suspend: "suspend", Inform: "inform",
	Assess: "assess", RaiseLimits: "raise-limits",
}

func (k CommandKind) String() string { return nameOf(commandNames[:], int(k)) }
