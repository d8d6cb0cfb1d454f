package core

// State is where a job is in its life (spec 30).
type State uint8

const (
	Unknown    State = iota // not submitted yet
	Submitted               // known, waits to be placed
	Selected                // resources chosen
	Contracted              // performance contract accepted
	Staging                 // input files on their way
	Queued                  // handed to the clusters, processors being claimed
	Running
	Stopping // told to save itself and leave, or, if its user cancelled it, to end
	Stopped  // holds nothing; can be resumed
	Resuming // waits to be placed again
	Done
	Failed
	Cancelled
	numStates
)

var stateNames = [...]string{
	Unknown: "UNKNOWN", Submitted: "SUBMITTED", Selected: "SELECTED", Contracted: "CONTRACTED",
	Staging: "STAGING", Queued: "QUEUED", Running: "RUNNING", Stopping: "STOPPING",
	Stopped: "STOPPED", Resuming: "RESUMING", Done: "DONE", Failed: "FAILED", Cancelled: "CANCELLED",
}

func (s State) String() string { return nameOf(stateNames[:], int(s)) }

// IsTerminal reports whether the job's life is over.
func (s State) IsTerminal() bool { return s == Done || s == Failed || s == Cancelled }

// IsWaiting reports whether the job waits to be placed, for the first time or
// again.
func (s State) IsWaiting() bool { return s == Submitted || s == Resuming }

// Hold says what keeps a submitted job out of the placement queue.
type Hold uint8

const (
	NotHeld        Hold = iota
	HeldDependency      // another job has not done yet what this one waits for
	HeldBegin           // its begin time has not come
	HeldArray           // as many jobs of its array are placed as may be at once
	HeldDescribe        // whoever submitted it is asked for what is known of it by now
	HeldNowhere         // it may run on none of the clusters that there are
	HeldUser            // its user has not released it
)

var holdNames = [...]string{NotHeld: "none", HeldDependency: "dependency", HeldBegin: "begin", HeldArray: "array",
	HeldDescribe: "describe", HeldNowhere: "nowhere", HeldUser: "user"}

func (h Hold) String() string { return nameOf(holdNames[:], int(h)) }

// next lists the legal ways on. A job whose claim was lost goes back to where
// it waited to be placed: Submitted in its first epoch, Resuming later.
var next = [numStates][]State{
	Unknown:    {Submitted},
	Submitted:  {Selected, Failed, Cancelled},
	Selected:   {Contracted, Staging, Queued, Submitted, Resuming, Failed, Cancelled},
	Contracted: {Staging, Queued, Submitted, Resuming, Failed, Cancelled},
	Staging:    {Queued, Submitted, Resuming, Failed, Cancelled},
	Queued:     {Running, Submitted, Resuming, Failed, Cancelled},
	Running:    {Stopping, Stopped, Done, Failed, Cancelled},
	Stopping:   {Stopping, Stopped, Running, Done, Failed, Cancelled}, // Running again if it could not be saved
	Stopped:    {Resuming, Failed, Cancelled},
	Resuming:   {Selected, Failed, Cancelled},
}

// MayBecome reports whether a job may go from s to t.
func (s State) MayBecome(t State) bool {
	if s >= numStates {
		return false
	}
	for _, n := range next[s] {
		if n == t {
			return true
		}
	}
	return false
}
