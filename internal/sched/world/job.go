package world

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Job is the state of one live job. Policies read it; only ApplyEvent changes it.
type Job struct {
	spec        *core.Job
	state       core.State
	since       core.Time // of the present state
	submitted   core.Time
	started     core.Time // of the present epoch
	epoch       core.Epoch
	attempts    int              // how often it has been running
	losses      int              // how many of these attempts were lost
	quickLosses int              // how many in a row were lost soon after they began
	aim         core.Aim         // where it is to go once it has stopped
	pin         core.Aim         // where alone it may be placed until it runs
	fixed       int              // processors that its user wants it to have, whatever the policy says; 0: any
	barred      []core.ClusterID // clusters that will not have it
	due         core.Time        // to have left, if stopping, or to have all claims, if queued; 0 for any time

	parts   []*Part
	onePart [1]*Part // most jobs have one part: no slice of their own
	single  Part

	hold      core.Hold   // what keeps it out of the placement queue
	holdWhy   core.Reason // why
	wasHeld   bool
	holdUntil core.Time // when it is looked at again; 0: when something happens
	userHold  bool      // its user has not released it
	suspended bool      // its user has its program stopped

	queued    bool
	ticket    int64 // place in the placement queue
	firstScan int64 // scans of the queue before it joined
	tries     int   // placement tries outside the queue
	notBefore core.Time
	lostAt    core.Aim  // where its claim was lost, which is why it is not to be tried before
	lostTurn  int       // the turns of that cluster then
	roomAfter core.Time // room was made for it in vain, and is not to be made again before

	held     heldTarget // what is held for it elsewhere since it was decided to move it
	foretold foretold   // what was predicted when that was decided

	pace    pace
	scaling *Scaling // of its program; of its own if it names none
}

// Part is a piece of a job in one cluster: a component, or what a flexible
// policy made of it.
type Part struct {
	job       *Job
	cluster   *Cluster
	index     int
	component int
	oneHost   bool // its program shares memory
	size      int  // processors the program runs on, or will
	min, max  int
	procs     core.ProcSet
	claimAt   core.Time
	ranks     []int // host of each node of its pattern; nil: they are in no order

	held    bool // procs are ours
	staged  bool
	claimed bool // the cluster has confirmed
	// its manager can be asked for more; what it was started with it keeps
	extensible bool

	order    int64 // of starting
	offer    offer
	serial   int // of the latest offer
	returned int // serial of what it gave back last by itself
	asked    int // more that the program said it must have
	refused  int // at its present size the program has refused offers up to this
}

// offer is a change of size that the program has not answered yet.
type offer struct {
	n         int // > 0 grow, < 0 shrink, 0 none
	procs     core.ProcSet
	mandatory bool
	due       core.Time
	silent    bool // nobody waits for the answer any more
	accepted  int  // of n, which the manager of the cluster is asked for
}

// Spec is what the user asked for.
func (j *Job) Spec() *core.Job { return j.spec }

// State is where the job is in its life.
func (j *Job) State() core.State { return j.state }

// Epoch is the present attempt, 0 before the first.
func (j *Job) Epoch() core.Epoch { return j.epoch }

// AttemptCount is how often the job has been running.
func (j *Job) AttemptCount() int { return j.attempts }

// LossCount is how many attempts were lost through no fault of the job.
func (j *Job) LossCount() int { return j.losses }

// QuickLosses is how many attempts in a row, up to the last, were lost within
// quickAttempt of their start.
func (j *Job) QuickLosses() int { return j.quickLosses }

// JustSaved reports whether the job has been stopped at this very moment, saved
// itself, and waits to be placed again.
func (j *Job) JustSaved(now core.Time) bool {
	return j.state == core.Resuming && j.since == now && j.attempts > j.losses
}

// SubmitTime is when the job became known.
func (j *Job) SubmitTime() core.Time { return j.submitted }

// DueTime is when a job that is stopping must have left, or one that is queued must
// have its claims; 0 if any time will do.
func (j *Job) DueTime() core.Time { return j.due }

// StateSince is when the job came into its state.
func (j *Job) StateSince() core.Time { return j.since }

// IsBarred reports whether the cluster said that it will never have the job.
func (j *Job) IsBarred(c core.ClusterID) bool { return slices.Contains(j.barred, c) }

// Aim is where the job is to go once it has stopped.
func (j *Job) Aim() core.Aim { return j.aim }

// PinnedAim is the only cluster where the job may be placed until it runs; 0: any that
// it allows.
func (j *Job) PinnedAim() core.Aim { return j.pin }

// FixedSize is the number of processors that its user wants it to have, 0 if the policy decides.
func (j *Job) FixedSize() int { return j.fixed }

// IsCancelled reports whether the job's user cancelled it and it has not ended yet.
func (j *Job) IsCancelled() bool { return j.state == core.Stopping && j.aim == core.AimNowhere }

// MoveCount is how often the job has been stopped and started again, not counting
// attempts that were lost.
func (j *Job) MoveCount() int { return max(0, j.attempts-1-j.losses) }

// IsQueued reports whether the job is in the placement queue.
func (j *Job) IsQueued() bool { return j.queued }

// RoomAfter is the moment before which no room is to be made for the job,
// because that was in vain.
func (j *Job) RoomAfter() core.Time { return j.roomAfter }

// IsClaimed reports whether the clusters have confirmed the claims of all parts.
func (j *Job) IsClaimed() bool {
	for _, p := range j.parts {
		if !p.claimed {
			return false
		}
	}
	return len(j.parts) > 0
}

// StartTime is when the present attempt began to run.
func (j *Job) StartTime() core.Time { return j.started }

// Parts lists where the job is placed. The caller must not change the slice.
func (j *Job) Parts() []*Part { return j.parts }

// Part is the i-th part, or nil.
func (j *Job) Part(i int) *Part {
	if i < 0 || i >= len(j.parts) {
		return nil
	}
	return j.parts[i]
}

// Size is the number of processors of all parts.
func (j *Job) Size() int {
	n := 0
	for _, p := range j.parts {
		n += p.size
	}
	return n
}

// addPart appends a part.
func (j *Job) addPart(part Part) *Part {
	p := &j.single
	if len(j.parts) > 0 {
		p = &Part{}
	} else {
		j.parts = j.onePart[:0]
	}
	*p = part
	p.job, p.oneHost = j, j.spec.Components[part.component].OneHost
	j.parts = append(j.parts, p)
	return p
}

// Job is the job the part belongs to.
func (p *Part) Job() *Job { return p.job }

// Cluster is where it runs.
func (p *Part) Cluster() *Cluster { return p.cluster }

// Index numbers the parts of a job from 0.
func (p *Part) Index() int { return p.index }

// Component is the component of the job that it came from.
func (p *Part) Component() int { return p.component }

// Size is the number of processors it runs on, or will.
func (p *Part) Size() int { return p.size }

// MinSize is the smallest size it can run at.
func (p *Part) MinSize() int { return p.min }

// MaxSize is the largest size it can use.
func (p *Part) MaxSize() int { return p.max }

// keepsHost is the host that all its processors are on and further ones have to be, if its program shares memory.
func (p *Part) keepsHost() (host int, keeps bool) {
	if !p.oneHost || len(p.cluster.spec.Hosts) < 2 {
		return 0, false
	}
	hosts := p.cluster.HostsOf(p.procs)
	if len(hosts) != 1 {
		return 0, false // it is larger than a host: it found out how to use several
	}
	return hosts[0], true
}

// RoomToGrow is how many more processors it could use of those that are free.
func (p *Part) RoomToGrow() int {
	room := p.max - p.size
	if host, keeps := p.keepsHost(); keeps && room > 0 {
		room = min(room, p.cluster.FreeOn(host))
	}
	return room
}

// ChooseGrowth is the n free processors that the part would be given next; nil: there are not so many for it.
func (p *Part) ChooseGrowth(n int) core.ProcSet {
	if host, keeps := p.keepsHost(); keeps {
		procs, enough := p.cluster.ChooseOn(host, n, nil)
		if !enough {
			return nil
		}
		return procs
	}
	return p.cluster.ChooseProcs(n, nil)
}

// Procs is the processors it holds.
func (p *Part) Procs() core.ProcSet { return p.procs }

// Ranks is the host of each node of its pattern, by their numbers in the cluster; nil
// if they are in no order. The caller must not change it.
func (p *Part) Ranks() []int { return p.ranks }

// HoldsProcs reports whether its processors are ours.
func (p *Part) HoldsProcs() bool { return p.held }

// IsStaged reports whether its input files are there.
func (p *Part) IsStaged() bool { return p.staged }

// IsClaimed reports whether the cluster has confirmed the claim.
func (p *Part) IsClaimed() bool { return p.claimed }

// ClaimAt is when a late claim is due.
func (p *Part) ClaimAt() core.Time { return p.claimAt }

// OpenOffer is the change of size that waits for an answer, 0 if none does.
func (p *Part) OpenOffer() (n int, mandatory bool, due core.Time) {
	return p.offer.n, p.offer.mandatory, p.offer.due
}

// AcceptedProcs is how many of the offered processors the part has accepted, and the manager of its cluster is
// asked for.
func (p *Part) AcceptedProcs() int { return p.offer.accepted }

// OfferSerial is the number of the latest offer to the part, 0 before the first.
func (p *Part) OfferSerial() int { return p.serial }

// ReturnSerial is the number of what the program gave back last by itself, if it
// numbers that.
func (p *Part) ReturnSerial() int { return p.returned }

// OfferedProcs is the processors that the open offer is about.
func (p *Part) OfferedProcs() core.ProcSet { return p.offer.procs }

// RefusedOffer is the largest offer that the program is known to refuse at its
// present size; offering as much or less again is pointless.
func (p *Part) RefusedOffer() int { return p.refused }

// AskedProcs is how many more processors the program said it must have, 0 once it
// was offered what there was.
func (p *Part) AskedProcs() int { return p.asked }

// StartOrder ranks running parts by their start.
func (p *Part) StartOrder() int64 { return p.order }

// HasContract reports whether the job is held to a promised speed: only one of a fixed size in a single place can be.
func (j *Job) HasContract() bool {
	return j.spec.Contract != nil && len(j.parts) == 1 && j.spec.Kind != core.Malleable
}
