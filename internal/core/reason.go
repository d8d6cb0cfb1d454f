package core

import "fmt"

// Reason says why something was decided, with the numbers that led to it. It
// is kept as a code and numbers so that recording one costs nothing; String
// makes the sentence.
type Reason struct {
	Code ReasonCode `json:"code"`
	A    float64    `json:"a,omitempty"`
	B    float64    `json:"b,omitempty"`
}

// ReasonCode names a kind of reason.
type ReasonCode uint8

const (
	NoReason ReasonCode = iota
	MostIdle
	FilesThere
	LeastTransfer
	FewestClusters
	SplitByIdle
	BestChance
	ShortestQueue
	OnlyChoice
	NoRoom
	TooManyTries
	NeverFits
	ClaimTaken
	ClaimDue
	ReservedAtOnce
	AllStaged
	AllClaimed
	ClusterStarted
	NothingToStage
	MustStage
	OldestFirst
	NewestFirst
	EqualShare
	EqualPartition
	Doubled
	Halved
	LargestGain
	SmallestLoss
	LeftOver
	MakeRoom
	RoomImpossible
	AskedByJob
	NotReleasedInTime
	HostLost
	RetriesUsedUp
	ExitedZero
	ExitedNonZero
	AskedByUser
	SavedItself
	SubmittedByUser
	EarliestEnd
	NeverTogether
	ReleasedTooFew
	NotLeftInTime
	ProgramCrashed
	ComesAgain
	numReasons
)

// reasons gives each code its short name in logs and its sentence, in which
// %[1]g and %[2]g stand for A and B.
var reasons = [numReasons]struct{ name, sentence string }{
	NoReason:          {"none", ""},
	MostIdle:          {"most-idle", "most idle processors of all clusters where it fits: %[1]g (next best %[2]g)"},
	FilesThere:        {"files-there", "all its input files are already there; %[1]g idle processors"},
	LeastTransfer:     {"least-transfer", "least time to bring its missing files: %[1]g s"},
	FewestClusters:    {"fewest-clusters", "fits in %[1]g clusters, the fewest possible; %[2]g components"},
	SplitByIdle:       {"split-by-idle", "split over %[1]g clusters by what is idle, to start now with %[2]g processors"},
	BestChance:        {"best-chance", "best chance of meeting its deadline: %[1].3g; expected to end after %[2]g s"},
	ShortestQueue:     {"shortest-queue", "no cluster is free at once; least work ahead in the queue here: %[1]g processors over"},
	OnlyChoice:        {"only-choice", "the only cluster that can run it"},
	NoRoom:            {"no-room", "needs %[1]g processors in one cluster, at most %[2]g are free"},
	TooManyTries:      {"too-many-tries", "not placed after %[1]g tries, the limit is %[2]g"},
	NeverFits:         {"never-fits", "needs %[1]g processors, the largest it could ever get is %[2]g"},
	ClaimTaken:        {"claim-taken", "somebody else took the processors before they were claimed; placed again"},
	ClaimDue:          {"claim-due", "expected to start in %[1]g s: processors claimed now"},
	ReservedAtOnce:    {"reserved", "the cluster can reserve: processors held from placement on"},
	AllStaged:         {"all-staged", "all input files have arrived"},
	AllClaimed:        {"all-claimed", "all %[1]g parts hold their processors"},
	ClusterStarted:    {"cluster-started", "the cluster started it on %[1]g processors"},
	NothingToStage:    {"nothing-to-stage", "no input file has to be brought"},
	MustStage:         {"must-stage", "input files have to be brought, about %[1]g s"},
	OldestFirst:       {"oldest-first", "oldest running job first: offered all %[1]g that are left"},
	NewestFirst:       {"newest-first", "newest running job first: asked for %[1]g"},
	EqualShare:        {"equal-share", "equal share of %[1]g processors among %[2]g jobs"},
	EqualPartition:    {"equal-partition", "to its equal part of the whole cluster: %[1]g"},
	Doubled:           {"doubled", "size doubled from %[1]g"},
	Halved:            {"halved", "size halved from %[1]g"},
	LargestGain:       {"largest-gain", "predicted to end %[1]g s sooner with %[2]g more processors, the largest gain"},
	SmallestLoss:      {"smallest-loss", "predicted to end %[1]g s later with %[2]g fewer processors, the smallest loss"},
	LeftOver:          {"left-over", "nobody gains from these %[1]g processors and nobody else wants them"},
	MakeRoom:          {"make-room", "room for job %[1]g at the head of the queue: %[2]g processors wanted"},
	RoomImpossible:    {"room-impossible", "even with all jobs at their minimum there is no room for job %[1]g"},
	AskedByJob:        {"asked-by-job", "the job itself asked for %[1]g"},
	NotReleasedInTime: {"not-released-in-time", "did not release %[1]g processors within %[2]g s"},
	HostLost:          {"host-lost", "%[1]g of its processors failed"},
	RetriesUsedUp:     {"retries-used-up", "started again %[1]g times already"},
	ExitedZero:        {"exited-zero", "the program ended by itself"},
	ExitedNonZero:     {"exited-nonzero", "the program ended with code %[1]g"},
	AskedByUser:       {"asked-by-user", "the user asked for it"},
	SavedItself:       {"saved-itself", "saved and left its processors"},
	SubmittedByUser:   {"submitted", "submitted"},
	EarliestEnd:       {"earliest-end", "expected to end soonest here: after %[1]g s"},
	NeverTogether:     {"never-together", "its %[1]g components, %[2]g processors in all, do not fit together even if the grid is empty"},
	ReleasedTooFew:    {"released-too-few", "released only %[1]g of the %[2]g processors that it had to"},
	NotLeftInTime:     {"not-left-in-time", "was told to leave and had not after %[1]g s"},
	ProgramCrashed:    {"program-crashed", "its attempt ended through no fault of its own"},
	ComesAgain:        {"comes-again", "waits to be placed again"},
}

func (c ReasonCode) String() string {
	if c < numReasons {
		return reasons[c].name
	}
	return "unknown"
}

// String is the reason as a sentence for people.
func (r Reason) String() string {
	if r.Code >= numReasons {
		return "unknown"
	}
	// The explicit index %.0[3]s swallows unused arguments silently.
	s := reasons[r.Code].sentence
	if s == "" {
		return ""
	}
	return fmt.Sprintf(s+"%.0[3]s", r.A, r.B, "")
}
