package core

import (
	"fmt"
	"math"
	"strconv"
	"strings"
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
	SizeByUser
	SizeByPolicy
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
	WaitsForSuccess
	WaitsForEnd
	WaitsForFailure
	WaitsForStart
	DependencyFailed
	DependencyWentWell
	BeginsLater
	ArrayFull
	AsksAgain
	NoClusterAllowed
	RetryPaused
	ProgramFailed
	EndsTheSameWay
	RanksAsTried
	RanksAsTriedLess
	RanksSuit
	RanksFound
	RanksByBatchSystem
	RanksNoNetwork
	RanksGaveUp
	RanksNotConnected
	RanksOtherHosts
	NoRoomOnOneHost
	NotReliable
	MigrationOff
	WayFastest
	WayOnly
	WaySparesBroker
	WayAfterFailure
	ClusterIsDrained
	HostIsDrained
	AskingManager
	NotGranted
	ClaimOutOfReach
	HostsApart
	HeldByUser
	ReleasedByUser
	SuspendedByUser
	ContinuedByUser
	LostWhileSuspended
	RequeuedByUser
	UpdatedByUser
	ContractAccepted
	ContractRejected
	ContractViolated
	ResourcesFreed
	GainEnough
	GainTooSmall
	NoPlaceToGain
	MoveForced
	StayForced
	NothingPredicted
	TargetHeld
	ShortestPromise
	numReasons
)

// reasons gives each code its short name in logs and its sentence. In it {A} and
// {B} stand for the numbers, {A s} for a time, {A %} for a chance, {B free} for
// how many cores are free, {A GiB} for memory, and {A core} for "1 core" or "3 cores".
var reasons = [numReasons]struct{ name, sentence string }{
	NoReason:          {"none", ""},
	MostIdle:          {"most-idle", "most idle cores of all clusters where it fits: {A} (next best {B})"},
	FilesThere:        {"files-there", "all its input files are already there; {A idle core}"},
	LeastTransfer:     {"least-transfer", "shortest stage-in of its missing files: {A s}"},
	FewestClusters:    {"fewest-clusters", "fits in {A cluster}, the fewest possible; {B component}"},
	SplitByIdle:       {"split-by-idle", "split over {A cluster} by what is idle, to start now on {B core}"},
	BestChance:        {"best-chance", "best chance of meeting its deadline: {A %}; expected to end after {B s}"},
	ShortestQueue:     {"shortest-queue", "no cluster is free now; shortest queue here: {A core} to spare"},
	OnlyChoice:        {"only-choice", "the only cluster where it fits now; {A idle core}"},
	NoRoom:            {"no-room", "waiting for {A core} ({B free})"},
	TooManyTries:      {"too-many-tries", "not placed after {A attempt}, the limit is {B}"},
	NeverFits:         {"never-fits", "needs {A core}, at most {B} can be allocated to it"},
	ClaimTaken:        {"claim-taken", "another job took the cores before they were claimed; placed again"},
	ClaimDue:          {"claim-due", "expected to start in {A s}: cores claimed now"},
	ReservedAtOnce:    {"reserved", "the cluster supports reservations: cores reserved at placement"},
	AllStaged:         {"all-staged", "stage-in complete"},
	AllClaimed:        {"all-claimed", "all {A part} hold their cores"},
	ClusterStarted:    {"cluster-started", "running on {A core}"},
	NothingToStage:    {"nothing-to-stage", "no input files to stage in"},
	MustStage:         {"must-stage", "staging in input files, about {A s}"},
	OldestFirst:       {"oldest-first", "oldest running job first: offered all {A} that are left"},
	NewestFirst:       {"newest-first", "newest running job first: asked for {A}"},
	EqualShare:        {"equal-share", "equal share of {A core} among {B job}"},
	EqualPartition:    {"equal-partition", "to its equal part of the whole cluster: {A}"},
	Doubled:           {"doubled", "size doubled from {A}"},
	Halved:            {"halved", "size halved from {A}"},
	LargestGain:       {"largest-gain", "predicted to end {A s} sooner with {B more core}, the largest gain"},
	SmallestLoss:      {"smallest-loss", "predicted to end {A s} later with {B fewer core}, the smallest loss"},
	LeftOver:          {"left-over", "no job gains from {A idle core} and none waits for them"},
	MakeRoom:          {"make-room", "making room for job {A} at the head of the queue: {B core} needed"},
	RoomImpossible:    {"room-impossible", "even with all jobs at their minimum there is no room for job {A}"},
	AskedByJob:        {"asked-by-job", "the job itself asked for {A}"},
	SizeByUser:        {"size-by-user", "its user wants it to have {A}"},
	SizeByPolicy:      {"size-by-policy", "its user leaves its size to the policy"},
	NotReleasedInTime: {"not-released-in-time", "did not release {A core} within {B s}"},
	HostLost:          {"host-lost", "host failure: lost {A core}"},
	RetriesUsedUp:     {"retries-used-up", "retry limit reached (requeued {A time})"},
	ExitedZero:        {"exited-zero", "the program exited with code 0"},
	ExitedNonZero:     {"exited-nonzero", "the program exited with code {A}"},
	AskedByUser:       {"asked-by-user", "requested by the user"},
	SavedItself:       {"saved-itself", "checkpointed, cores released"},
	SubmittedByUser:   {"submitted", "submitted"},
	EarliestEnd:       {"earliest-end", "expected to end soonest here: after {A s}"},
	NeverTogether: {"never-together",
		"its {A component}, {B core} in all, do not fit together even if the grid is empty"},
	ReleasedTooFew:  {"released-too-few", "released only {A} of the {B core} that it had to"},
	NotLeftInTime:   {"not-left-in-time", "told to stop and still running after {A s}"},
	ProgramCrashed:  {"program-crashed", "its attempt ended through no fault of its own"},
	NotStartedAgain: {"not-started-again", "its attempt was lost in a way that is not retried"},
	TooFewHosts: {"too-few-hosts",
		"needs {A host} of one cluster, each with room for its part; at most {B} have that"},
	UserMoves:        {"user-moves", "requested by the user"},
	UserMovesSoonest: {"user-moves-soonest", "requested by the user; expected to end soonest there: in about {A s}"},
	MoveForbidden:    {"move-forbidden", "the job may not run there"},
	MoveSame:         {"move-same", "the job is there already"},
	MoveRefused:      {"move-refused", "the cluster refused the job before"},
	MoveTooSmall: {"move-too-small",
		"the job does not fit there: it needs {A core}, the cluster has {B}, or too little memory"},
	MoveOutOfReach: {"move-out-of-reach", "the cluster is out of reach"},
	MoveNoRoom:     {"move-no-room", "no room there now: the job needs {A core}, {B} free"},
	MoveNowhere:    {"move-nowhere", "no other cluster where the job may run has room for it now"},
	MoveNotNow:     {"move-not-now", "the job is being stopped or migrated already"},
	MoveParts:      {"move-parts", "the job runs in several clusters at once"},
	PlacedWhole: {"placed-whole",
		"placed whole in one cluster with room for it: only simulated jobs are split over clusters (place: fcm)"},
	NotSplit: {"not-split",
		"needs {A core}, the largest cluster has {B}; only simulated jobs are split over clusters (place: fcm)"},
	ClusterRemoved:  {"cluster-removed", "the cluster where it may run was removed from the settings"},
	NotReached:      {"not-reached", "the clusters where it may run are out of reach"},
	NotKnownYet:     {"not-known-yet", "waiting for a cluster that has not answered yet"},
	NeverMemory:     {"never-memory", "needs {A GiB} of memory on each host, the most that a host has is {B GiB}"},
	CancelRequested: {"cancel-requested", "cancelled by the user: SIGTERM, and SIGKILL after {A s}"},
	FetchingFiles: {"fetching-files",
		"cancelled by the user: the program has ended, its files are being copied back"},
	NotEndedInTime: {"not-ended-in-time",
		"cancelled by the user: no answer from its cluster within {A s}; what it wrote there is lost"},
	RetryPaused: {"retry-paused",
		"its attempt was lost within a minute of its start ({A time} in a row); it starts again in {B s}"},
	ComesAgain: {"comes-again", "requeued"},
	MustGrow:   {"must-grow", "job {A} must grow: {B core} needed"},
	GivenBack:  {"given-back", "by the job itself"},
	ClaimsApart: {"claims-apart",
		"its {A part} could not be claimed within {B s} of each other: all given up, or two such jobs might wait for each " +
			"other for ever"},
	AskingManager: {"asking-manager", "the cluster's manager is asked for {A core}, for {B s} at most"},
	NotGranted:    {"not-granted", "the cluster's manager had {A} of {B core} for it"},
	NotAnswered:   {"not-answered", "no answer after {A s}; others do not wait for it any longer"},
	BetterChance:  {"better-chance", "the chance of meeting its deadline is {A %} here and {B %} there"},
	EndsSooner: {"ends-sooner",
		"its deadline is probably missed wherever it runs, but there it ends earlier: in about {A s} instead of {B s}"},
	NotWorthMoving: {"not-worth-moving",
		"the chance of meeting its deadline is {A %} here and {B %} on the best other cluster"},
	MovedOften: {"moved-often",
		"migrated {A time} already, the limit; the chance of meeting its deadline is {B %} here"},
	MovedJustNow: {"moved-just-now", "migrated {A s} ago; no further migration within {B s}"},
	NobodyCan: {"nobody-can",
		"no cluster can meet its deadline: it ends in about {A s} here and, including the migration, in about {B s} at " +
			"best elsewhere"},
	WellHere: {"well-here", "the chance of meeting its deadline is {A %} here, enough"},
	NowhereToGo: {"nowhere-to-go",
		"the chance of meeting its deadline is {A %} here, and no other cluster has room for it"},
	FastestHere: {"fastest-here",
		"run time unknown; a new job computes fastest here: {A} times the reference speed"},
	Aimed:              {"aimed", "where it was decided to migrate it"},
	ClusterRefuses:     {"cluster-refuses", "the cluster refused it"},
	CouldNotSave:       {"could-not-save", "checkpoint failed; it runs on"},
	WaitsForSuccess:    {"waits-for-success", "waiting for job {A} to complete successfully (afterok)"},
	WaitsForEnd:        {"waits-for-end", "waiting for job {A} to end (afterany)"},
	WaitsForFailure:    {"waits-for-failure", "waiting for job {A} to fail (afternotok)"},
	WaitsForStart:      {"waits-for-start", "waiting for job {A} to start (after)"},
	DependencyFailed:   {"dependency-failed", "dependency never satisfied: job {A} failed (afterok)"},
	DependencyWentWell: {"dependency-went-well", "dependency never satisfied: job {A} completed (afternotok)"},
	BeginsLater:        {"begins-later", "start time not reached"},
	ArrayFull:          {"array-full", "at most {A job} of the array run at once"},
	AsksAgain:          {"asks-again", "checking where it can run"},
	NoClusterAllowed:   {"no-cluster-allowed", "no cluster can run it at present"},
	EndsTheSameWay:     {"ends-the-same-way", "every further attempt would end the same way"},
	ProgramFailed:      {"program-failed", "the program exited with code {A}, after which it is to be retried"},
	RanksAsTried:       {"ranks-as-tried", "its skeleton took {A s} there, the best of {B trial run}"},
	RanksAsTriedLess:   {"ranks-as-tried-less", "its skeleton took {A s} there; where it was faster there is no room"},
	RanksSuit: {"ranks-suit",
		"best hosts for its pattern: the slowest pair has {A} Mbit/s, the busiest host {B %} of a core free"},
	RanksFound: {"ranks-found",
		"best hosts for its pattern that were found in time: the slowest pair has {A} Mbit/s, the busiest host {B %} of a " +
			"core free"},
	RanksByBatchSystem: {"ranks-by-batch-system", "the batch system of the cluster chooses the hosts"},
	RanksNoNetwork:     {"ranks-no-network", "the network between the hosts has not been measured"},
	RanksGaveUp:        {"ranks-gave-up", "no order that suits the pattern was found in time"},
	RanksNotConnected:  {"ranks-not-connected", "the measured part of the network has no room for the pattern"},
	RanksOtherHosts:    {"ranks-other-hosts", "the pattern needs {A host}, the cores of the job are on {B}"},
	WayFastest:         {"way-fastest", "expected to arrive soonest on this way: in {A s} (next best {B s})"},
	WayOnly:            {"way-only", "the only way; expected to arrive in {A s}"},
	WaySparesBroker: {"way-spares-broker",
		"expected to arrive in {A s}; through the broker in {B s}, but over its link twice"},
	WayAfterFailure: {"way-after-failure", "a better way did not work; expected to arrive in {A s}"},
	MigrationOff:    {"migration-off", "migration is off for this job (--adapt off)"},
	NoRoomOnOneHost: {"no-room-on-one-host", "waiting for {A core} on one host"},
	NotReliable: {"not-reliable",
		"needs a cluster with a reliability of {A}, the most reliable where it may run has {B}"},
	ClusterIsDrained: {"cluster-drained", "the cluster where it may run has been drained"},
	HostIsDrained:    {"host-drained", "hosts that it needs have been drained"},
	ClaimOutOfReach:  {"claim-out-of-reach", "the cluster went out of reach before it could start there; placed again"},
	HostsApart: {"hosts-apart",
		"it is one MPI program, and the hosts of the clusters where its parts may run cannot reach each other"},
	HeldByUser:         {"held-by-user", "held by the user (godwit release lets it go on)"},
	ReleasedByUser:     {"released-by-user", "released by the user"},
	SuspendedByUser:    {"suspended-by-user", "suspended by the user: its processes are stopped, its cores are kept"},
	ContinuedByUser:    {"continued-by-user", "resumed by the user"},
	LostWhileSuspended: {"lost-while-suspended", "it was suspended when its attempt ended (godwit resume lets it go on)"},
	RequeuedByUser:     {"requeued-by-user", "requeued by the user"},
	UpdatedByUser:      {"updated-by-user", "changed by the user"},
	ContractAccepted:   {"contract-accepted", "contract accepted: {A s} promised here"},
	ContractRejected: {"contract-rejected",
		"contract rejected: {A s} predicted here, {B s} on the best other cluster with room: selected again"},
	ContractViolated: {"contract-violated",
		"contract violated: the last phase took {A} times as long as promised, the limit is {B}"},
	ResourcesFreed: {"resources-freed", "cores became free: would it gain by moving there?"},
	GainEnough:     {"gain-enough", "moving saves {A %} of the remaining time, more than the threshold of {B %}"},
	GainTooSmall: {"gain-too-small",
		"moving saves {A %} of the remaining time, not more than the threshold of {B %}"},
	NoPlaceToGain:    {"no-place-to-gain", "no other place has room for it"},
	MoveForced:       {"move-forced", "move forced (experiment); it saves {A %} of the remaining time, threshold {B %}"},
	StayForced:       {"stay-forced", "stay forced (experiment); moving saves {A %} of the remaining time, threshold {B %}"},
	NothingPredicted: {"nothing-predicted", "nothing is predicted of the job"},
	ShortestPromise:  {"shortest-promise", "the shortest promise of all clusters with room: {A s}"},
	TargetHeld:       {"target-held", "on the {A core} held for it since it was decided to move it"},
	NoRoomInAll:      {"no-room-in-all", "waiting for {A core} ({B} free in all clusters together)"},
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
	sentence := reasons[r.Code].sentence
	if r.Code == CancelRequested && r.A == 0 {
		sentence = "cancelled by the user: SIGKILL at once"
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(sentence, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		slot, after, _ := strings.Cut(rest, "}")
		x := r.A
		if slot[0] == 'B' {
			x = r.B
		}
		b.WriteString(fillSlot(x, strings.TrimPrefix(slot[1:], " ")))
		sentence = after
	}
}

// fillSlot writes a number as the slot of a sentence wants it.
func fillSlot(x float64, as string) string {
	switch as {
	case "":
		return formatNumber(x)
	case "s":
		return FormatSeconds(x)
	case "%":
		return percentText(x)
	case "GiB":
		return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64) + " GiB"
	case "free":
		if x <= 0 {
			return "none free"
		}
		return "at most " + formatNumber(x) + " free in one cluster"
	}
	if x == 1 {
		return "1 " + as
	}
	return formatNumber(x) + " " + as + "s"
}

// percentText never says 0 or 100 of what is only almost so.
func percentText(p float64) string {
	switch {
	case p > 0 && p < 0.01:
		return "below 1 %"
	case p > 0.99 && p < 1:
		return "above 99 %"
	}
	return fmt.Sprintf("%.0f %%", 100*p)
}

// formatNumber writes whole numbers as such, others to three decimals.
func formatNumber(x float64) string {
	if math.Abs(x) < 1e15 {
		x = math.Round(x*1000) / 1000
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}
