package core

import (
	"fmt"
	"math"
	"strconv"
)

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
	MustGrow
	GivenBack
	NoRoomInAll
	ClaimsApart
	NotAnswered
	BetterChance
	EndsSooner
	NotWorthMoving
	MovedOften
	MovedJustNow
	NobodyCan
	WellHere
	NowhereToGo
	Aimed
	FastestHere
	CouldNotSave
	ClusterRefuses
	NotStartedAgain
	TooFewHosts
	UserMoves
	UserMovesSoonest
	MoveForbidden
	MoveSame
	MoveRefused
	MoveTooSmall
	MoveOutOfReach
	MoveNoRoom
	MoveNowhere
	MoveNotNow
	MoveParts
	PlacedWhole
	NotSplit
	ClusterRemoved
	NotKnownYet
	NotReached
	NeverMemory
	CancelRequested
	FetchingFiles
	NotEndedInTime
	numReasons
)

// reasons gives each code its short name in logs and its sentence, in which
// %[1]s and %[2]s stand for A and B.
var reasons = [numReasons]struct{ name, sentence string }{
	NoReason:          {"none", ""},
	MostIdle:          {"most-idle", "most idle processors of all clusters where it fits: %[1]s (next best %[2]s)"},
	FilesThere:        {"files-there", "all its input files are already there; %[1]s idle processors"},
	LeastTransfer:     {"least-transfer", "least time to bring its missing files: %[1]s s"},
	FewestClusters:    {"fewest-clusters", "fits in %[1]s clusters, the fewest possible; %[2]s components"},
	SplitByIdle:       {"split-by-idle", "split over %[1]s clusters by what is idle, to start now with %[2]s processors"},
	BestChance:        {"best-chance", "best chance of meeting its deadline: %[1]s; expected to end after %[2]s s"},
	ShortestQueue:     {"shortest-queue", "no cluster is free at once; least work ahead in the queue here: %[1]s processors over"},
	OnlyChoice:        {"only-choice", "the only cluster where it fits now; %[1]s idle processors"},
	NoRoom:            {"no-room", "needs %[1]s processors in one cluster, at most %[2]s are free"},
	TooManyTries:      {"too-many-tries", "not placed after %[1]s tries, the limit is %[2]s"},
	NeverFits:         {"never-fits", "needs %[1]s processors, the largest it could ever get is %[2]s"},
	ClaimTaken:        {"claim-taken", "somebody else took the processors before they were claimed; placed again"},
	ClaimDue:          {"claim-due", "expected to start in %[1]s s: processors claimed now"},
	ReservedAtOnce:    {"reserved", "the cluster can reserve: processors held from placement on"},
	AllStaged:         {"all-staged", "all input files have arrived"},
	AllClaimed:        {"all-claimed", "all %[1]s parts hold their processors"},
	ClusterStarted:    {"cluster-started", "the cluster started it on %[1]s processors"},
	NothingToStage:    {"nothing-to-stage", "no input file has to be brought"},
	MustStage:         {"must-stage", "input files have to be brought, about %[1]s s"},
	OldestFirst:       {"oldest-first", "oldest running job first: offered all %[1]s that are left"},
	NewestFirst:       {"newest-first", "newest running job first: asked for %[1]s"},
	EqualShare:        {"equal-share", "equal share of %[1]s processors among %[2]s jobs"},
	EqualPartition:    {"equal-partition", "to its equal part of the whole cluster: %[1]s"},
	Doubled:           {"doubled", "size doubled from %[1]s"},
	Halved:            {"halved", "size halved from %[1]s"},
	LargestGain:       {"largest-gain", "predicted to end %[1]s s sooner with %[2]s more processors, the largest gain"},
	SmallestLoss:      {"smallest-loss", "predicted to end %[1]s s later with %[2]s fewer processors, the smallest loss"},
	LeftOver:          {"left-over", "nobody gains from these %[1]s processors and nobody else wants them"},
	MakeRoom:          {"make-room", "room for job %[1]s at the head of the queue: %[2]s processors wanted"},
	RoomImpossible:    {"room-impossible", "even with all jobs at their minimum there is no room for job %[1]s"},
	AskedByJob:        {"asked-by-job", "the job itself asked for %[1]s"},
	NotReleasedInTime: {"not-released-in-time", "did not release %[1]s processors within %[2]s s"},
	HostLost:          {"host-lost", "%[1]s of its processors failed"},
	RetriesUsedUp:     {"retries-used-up", "started again %[1]s times already"},
	ExitedZero:        {"exited-zero", "the program ended by itself"},
	ExitedNonZero:     {"exited-nonzero", "the program ended with code %[1]s"},
	AskedByUser:       {"asked-by-user", "the user asked for it"},
	SavedItself:       {"saved-itself", "saved and left its processors"},
	SubmittedByUser:   {"submitted", "submitted"},
	EarliestEnd:       {"earliest-end", "expected to end soonest here: after %[1]s s"},
	NeverTogether:     {"never-together", "its %[1]s components, %[2]s processors in all, do not fit together even if the grid is empty"},
	ReleasedTooFew:    {"released-too-few", "released only %[1]s of the %[2]s processors that it had to"},
	NotLeftInTime:     {"not-left-in-time", "was told to leave and had not after %[1]s s"},
	ProgramCrashed:    {"program-crashed", "its attempt ended through no fault of its own"},
	NotStartedAgain:   {"not-started-again", "its attempt was lost in a way after which it is not started again"},
	TooFewHosts:       {"too-few-hosts", "needs %[1]s hosts of one cluster, each with room for its part; at most %[2]s have that"},
	UserMoves:         {"user-moves", "the user asked for it"},
	UserMovesSoonest:  {"user-moves-soonest", "the user asked for it; expected to end soonest there: in about %[1]s s"},
	MoveForbidden:     {"move-forbidden", "the job may not run there"},
	MoveSame:          {"move-same", "the job is there already"},
	MoveRefused:       {"move-refused", "the cluster refused the job before"},
	MoveTooSmall:      {"move-too-small", "the job does not fit there: it needs %[1]s cores, the cluster has %[2]s, or too little memory"},
	MoveOutOfReach:    {"move-out-of-reach", "the cluster is out of reach"},
	MoveNoRoom:        {"move-no-room", "no room there now: the job needs %[1]s cores, %[2]s are free"},
	MoveNowhere:       {"move-nowhere", "no other cluster where the job may run has room for it now"},
	MoveNotNow:        {"move-not-now", "the job is being stopped or moved already"},
	MoveParts:         {"move-parts", "the job runs in several clusters at once"},
	PlacedWhole:       {"placed-whole", "placed whole in one cluster with room for it: only simulated jobs are split over clusters (place: fcm)"},
	NotSplit:          {"not-split", "needs %[1]s processors, the largest cluster has %[2]s; only simulated jobs are split over clusters (place: fcm)"},
	ClusterRemoved:    {"cluster-removed", "the cluster where it may run was removed from the settings"},
	NotReached:        {"not-reached", "the clusters where it may run are out of reach"},
	NotKnownYet:       {"not-known-yet", "waiting for a cluster that has not answered yet"},
	NeverMemory:       {"never-memory", "needs %[1]s GiB of memory on each host, the most that a host has is %[2]s GiB"},
	CancelRequested:   {"cancel-requested", "cancelled by the user: SIGTERM, and SIGKILL after %[1]s s"},
	FetchingFiles:     {"fetching-files", "cancelled by the user: the program has ended, its files are being copied back"},
	NotEndedInTime:    {"not-ended-in-time", "cancelled by the user: no answer from its cluster within %[1]s s; what it wrote there is lost"},
	ComesAgain:        {"comes-again", "waits to be placed again"},
	MustGrow:          {"must-grow", "job %[1]s said that it must grow: %[2]s processors wanted"},
	GivenBack:         {"given-back", "by the job itself"},
	ClaimsApart:       {"claims-apart", "its %[1]s parts could not be claimed within %[2]s s of each other: all given up, or two such jobs might wait for each other for ever"},
	NotAnswered:       {"not-answered", "has not answered after %[1]s s; others do not wait for it any longer"},
	BetterChance:      {"better-chance", "the chance of meeting its deadline is %[1]s here and %[2]s there"},
	EndsSooner:        {"ends-sooner", "its deadline is probably missed wherever it runs, but there it ends earlier: in about %[1]s s instead of %[2]s s"},
	NotWorthMoving:    {"not-worth-moving", "the chance of meeting its deadline is %[1]s here, and no more than %[2]s elsewhere"},
	MovedOften:        {"moved-often", "has been moved %[1]s times already, the most allowed; the chance of meeting its deadline is %[2]s here"},
	MovedJustNow:      {"moved-just-now", "was moved %[1]s s ago and is to be left alone for %[2]s s"},
	NobodyCan:         {"nobody-can", "nobody can meet its deadline: it ends in about %[1]s s here and, with the move, in about %[2]s s at best elsewhere"},
	WellHere:          {"well-here", "the chance of meeting its deadline is %[1]s here, enough"},
	NowhereToGo:       {"nowhere-to-go", "the chance of meeting its deadline is %[1]s here, and no other cluster has room for it"},
	FastestHere:       {"fastest-here", "nothing is known of how long it takes; a newcomer computes fastest here: at %[1]s of the reference speed"},
	Aimed:             {"aimed", "where it was decided to move it"},
	ClusterRefuses:    {"cluster-refuses", "the cluster refuses it"},
	CouldNotSave:      {"could-not-save", "could not be saved, and runs on"},
	NoRoomInAll:       {"no-room-in-all", "needs %[1]s processors in all clusters together, %[2]s are free"},
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
	return fmt.Sprintf(s+"%.0[3]s", number(r.A), number(r.B), "")
}

// number writes whole numbers as such, others to three digits, and at least to whole
// ones.
func number(x float64) string {
	decimals := 1000.0
	switch size := math.Abs(x); {
	case size >= 100:
		decimals = 1
	case size >= 10:
		decimals = 10
	case size >= 1:
		decimals = 100
	}
	if math.Abs(x) < 1e15 {
		x = math.Round(x*decimals) / decimals
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}
