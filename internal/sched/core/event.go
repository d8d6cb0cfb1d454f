package core

// Event is something that happened, and the only way in which the world
// changes: the state is what the events, replayed in order, give. It is one
// flat struct, not one type per kind, so that millions of them cost no
// allocation; each kind says which fields it uses.
type Event struct {
	At        Time         `json:"at"`
	Kind      EventKind    `json:"kind"`
	Job       JobID        `json:"job,omitempty"`
	Epoch     Epoch        `json:"epoch,omitempty"`
	Part      int          `json:"part,omitempty"`
	Component int          `json:"component,omitempty"`
	Cluster   ClusterID    `json:"cluster,omitempty"`
	From      State        `json:"from,omitempty"`
	To        State        `json:"to,omitempty"`
	N         int          `json:"n,omitempty"`
	Min       int          `json:"min,omitempty"`
	Max       int          `json:"max,omitempty"`
	Procs     ProcSet      `json:"procs,omitempty"`
	Ranks     []int        `json:"ranks,omitempty"`
	When      Time         `json:"when,omitempty"`
	Done      float64      `json:"done,omitempty"`
	Mandatory bool         `json:"mandatory,omitempty"`
	ExitCode  int          `json:"exit_code,omitempty"`
	Lost      bool         `json:"lost,omitempty"`
	Barred    bool         `json:"barred,omitempty"`
	NeverRan  bool         `json:"never_ran,omitempty"`
	Reachable bool         `json:"reachable,omitempty"`
	Share     float64      `json:"share,omitempty"`
	QueueWait int          `json:"queue_wait,omitempty"`
	Rating    float64      `json:"rating,omitempty"`
	Grow      bool         `json:"grow,omitempty"`
	Serial    int          `json:"serial,omitempty"`
	Aim       Aim          `json:"aim,omitempty"`
	Why       Reason       `json:"why,omitzero"`
	Spec      *Job         `json:"spec,omitempty"`
	Net       *Network     `json:"net,omitempty"`
	Grid      *ClusterSpec `json:"grid,omitempty"`
	Drain     *Drain       `json:"drain,omitempty"`
	Hold      Hold         `json:"hold,omitempty"`
	Array     JobID        `json:"array,omitempty"`
	Between   *[2]string   `json:"between,omitempty"`
	Change    *Change      `json:"change,omitempty"`
	Promise   float64      `json:"promise,omitempty"`
	Gain      *Gain        `json:"gain,omitempty"`
}

// EventKind says what happened.
type EventKind uint8

const (
	_            EventKind = iota
	JobSubmitted           // Spec
	// From, To, Why; Promise: the seconds promised, if contracted; ExitCode when the program ended; Lost: its attempt
	// was; When: until then it may stop, or wait for its claims if queued; Aim: where it is to go when it has stopped;
	// Barred: never to Cluster again
	JobBecame
	// to the tail of the placement queue, after N tries that failed; not to be tried before When, unless Aim, where its
	// claim was lost, goes out of reach or comes back; Why
	JobEnqueued
	QueueScanned  // the placement queue was looked through once from its head
	PartPlanned   // Part, Component, Cluster, N processors within [Min, Max]; Procs if held at once; When: claim due
	PartHeld      // Part holds Procs from now on
	RanksOrdered  // Part: node i of its pattern runs on host Ranks[i] of Cluster; none: not for us to say; Why
	PartStaged    // the input files of Part have arrived
	PartClaimed   // the cluster confirmed the claim of Part; When: the other parts' claims are due, if it is the first
	PartOffered   // N more (or fewer, if negative) processors, Procs; Mandatory; When: answer due; Serial
	PartSilent    // the answer of Part to an offer it may refuse is not waited for any more; Serial
	PartAccepted  // the manager is asked for N processors that Part accepts of an offer, until When; Serial
	PartAnswered  // N of the offered processors accepted (always ≥ 0), and given by now; Done: progress; Serial
	PartAsked     // the job asked for N more; Mandatory
	PartGaveBack  // the job gave N processors, Procs, back by itself; Serial, if it numbers what it gives back
	JobProgressed // Done: part of the work finished, 0 to 1
	OthersPolled  // Cluster: Procs are used by others
	HostsFailed   // Cluster: Procs are gone
	HostsJoined   // Cluster: Procs are there (again)
	ReclaimBegan  // Cluster: N processors are being reclaimed for Job
	ReclaimEnded  // Cluster, Job; When: if that could not be placed all the same, not to be tried again before
	// its deadline is in danger, its contract is broken, it might gain elsewhere, or its user wants it elsewhere: Aim, if
	// it is to move; Why; Gain, if that decided: then N processors, Procs, are held for it at Aim until it is there
	JobJudged
	// Cluster: Reachable or not; a new job waits QueueWait seconds in its queue and gets Share of a core there
	ClusterFelt
	NetworkFelt     // Cluster: how well its hosts are connected is Net
	ClusterRated    // Cluster: it is expected to bring the part Rating of its jobs to their end
	JobPinned       // until it runs it is placed at Aim alone; 0: anywhere again; Why
	ClusterDefined  // Cluster: what it consists of is Grid
	JobHeld         // kept out of the placement queue by Hold; Why; When: until then, if it waits for a time
	InputRouted     // Job: input N comes to Cluster from Aim, or through the broker if that is 0; Why
	JobReleased     // nothing holds it any longer
	JobDescribed    // what is known of it by now is Spec
	ResultsReturned // Job, of Array, has ended as To and its results are where they belong; NeverRan
	// Cluster: nothing new is placed on it, or on the host that Drain names; Why. Where Why of another event is
	// that a cluster was drained, Cluster and Drain say which, by whom, since when and why.
	ClusterDrained
	ClusterUndrained // Cluster: it, or the host that Drain names, is used again; Drain: by whom; Why
	JobWaits         // Job: why it waits to be placed is another by now: Why
	JobSized         // Job: its user wants it to have N processors; 0: as many as the policy gives it; Why
	// Cluster: its hosts and those of Aim cannot reach each other, until When; 0: they can. Where Why of an event is
	// that, Between are the names of the two.
	ClustersApart
	JobHeldByUser     // Job: its user keeps it out of the placement queue, once nothing else does; Why
	JobReleasedByUser // Job: its user does not any longer; Why
	JobSuspended      // Job: its program is stopped and keeps its processors; Why
	JobContinued      // Job: its program goes on, or, if it has lost its attempt, it waits to be placed again; Why
	JobUpdated        // Job: Spec, as its user has changed it; Change: what that is; Why
	RescheduleAsked   // Job, Epoch: the rescheduler is to look at it; Why
	RescheduleBegan   // Job, Epoch: it does so now: what is predicted of it is asked for
)

var eventNames = [...]string{
	JobSubmitted: "job-submitted", JobBecame: "job-became", JobEnqueued: "job-enqueued",
	QueueScanned: "queue-scanned", PartPlanned: "part-planned", PartHeld: "part-held", RanksOrdered: "ranks-ordered",
	PartStaged: "part-staged", PartClaimed: "part-claimed", PartOffered: "part-offered",
	PartSilent: "part-silent", PartAccepted: "part-accepted", PartAnswered: "part-answered", PartAsked: "part-asked",
	PartGaveBack:  "part-gave-back",
	JobProgressed: "job-progressed", OthersPolled: "others-polled", HostsFailed: "hosts-failed",
	HostsJoined: "hosts-joined", ReclaimBegan: "reclaim-began", ReclaimEnded: "reclaim-ended",
	JobJudged: "job-judged", ClusterFelt: "cluster-felt", NetworkFelt: "network-felt", ClusterRated: "cluster-rated",
	JobPinned: "job-pinned", ClusterDefined: "cluster-defined",
	JobHeld: "job-held", JobReleased: "job-released", InputRouted: "input-routed", JobDescribed: "job-described",
	ResultsReturned: "results-returned",
	ClusterDrained:  "cluster-drained", ClusterUndrained: "cluster-undrained", JobWaits: "job-waits",
	JobSized: "job-sized", ClustersApart: "clusters-apart",
	JobHeldByUser: "job-held-by-user", JobReleasedByUser: "job-released-by-user", JobSuspended: "job-suspended",
	JobContinued: "job-continued", JobUpdated: "job-updated",
	RescheduleAsked: "reschedule-asked", RescheduleBegan: "reschedule-began",
}

// Modernize turns an event of an earlier version into what says the same today: one
// field served several meanings.
func (e *Event) Modernize() {
	switch e.Kind {
	case ClusterFelt:
		if e.Done > 0 {
			e.Reachable, e.Share, e.QueueWait = true, e.Done, e.N
			e.Done, e.N = 0, 0
		}
	case JobBecame:
		switch {
		case e.To == Stopped:
			e.Lost = e.Lost || e.N > 0
		case e.To.IsTerminal() && e.N != 0:
			e.ExitCode = e.N
		}
		e.Barred = e.Barred || e.Mandatory
		e.N, e.Mandatory = 0, false
	}
}

func (k EventKind) String() string { return nameOf(eventNames[:], int(k)) }
