package broker

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// describeAgain is how often it is looked whether a job can run by now that could run on
// none of the clusters.
const describeAgain = 10 * time.Minute

// describeRetry is how long a job waits when it cannot be found out where it may run.
const describeRetry = time.Second

// maxDescribedTogether is how many jobs the engine is told of in one message.
const maxDescribedTogether = 16

// maxDescribing is how many such messages of one user may be on their way to the loop: whoever
// asks for something waits behind them.
const maxDescribing = 8

// describeSlots is, for each user, the messages that are on their way.
type describeSlots struct {
	mu sync.Mutex
	of map[uint32]chan struct{}
}

func (s *describeSlots) slotsOf(user uint32) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[uint32]chan struct{}{}
	}
	if s.of[user] == nil {
		s.of[user] = make(chan struct{}, maxDescribing)
	}
	return s.of[user]
}

// describeQuestion asks what is known by now of a job that nothing holds any longer.
type describeQuestion struct {
	job     *job
	inputs  []store.Input
	command uint64
}

// describeQueue is such questions. The elements of an array have them together: a hundred
// thousand may be released at once, and the answer is the same for all.
type describeQueue struct {
	groups [][]describeQuestion
	of     map[core.JobID]int // where the group of an array is
}

func (q *describeQueue) addJob(j *job, command uint64) {
	one := describeQuestion{j, j.rec.Inputs, command}
	array := j.rec.Parent
	if i, ok := q.of[array]; ok {
		q.groups[i] = append(q.groups[i], one)
		return
	}
	if array != 0 {
		if q.of == nil {
			q.of = map[core.JobID]int{}
		}
		q.of[array] = len(q.groups)
	}
	q.groups = append(q.groups, []describeQuestion{one})
}

// describeJobs finds out what is known by now of jobs, and tells the engine. The clusters
// may be others than when they were submitted.
func (b *Broker) describeJobs(q describeQueue) {
	for _, group := range q.groups {
		slots := b.describing.slotsOf(group[0].job.rec.Owner)
		b.runUntilStopped(func(ctx context.Context) {
			for some := range slices.Chunk(group, maxDescribedTogether) {
				select {
				case slots <- struct{}{}:
				case <-ctx.Done():
					return // the outbox remembers
				}
				b.describeGroup(ctx, some)
				<-slots
			}
		})
	}
}

// describeGroup does so for jobs that have the same job file.
func (b *Broker) describeGroup(ctx context.Context, list []describeQuestion) {
	j, inputs := list[0].job, list[0].inputs
	if j.spec == nil { // it was cancelled before the last broker ended
		b.postToLoop(func(t *turn) { t.markSent(list[0].command); t.settleJob(j) })
		if len(list) > 1 {
			b.describeGroup(ctx, list[1:])
		}
		return
	}
	ctx = j.asOwner(ctx)
	allowed, err := b.allowedClusters(ctx, j.spec)
	for err != nil && !badinput.Is(err) { // the history could not be read
		b.opt.Log.Warn("not known where a job may run", "job", j.rec.ID, "error", err)
		if !clock.SleepContext(ctx, describeRetry) {
			return // the outbox remembers
		}
		allowed, err = b.allowedClusters(ctx, j.spec)
	}
	need, _ := b.estimateNeed(ctx, j.spec)
	bring := b.bringTimes(ctx, inputs)
	same := len(list)
	if i := slices.IndexFunc(list, func(q describeQuestion) bool {
		return q.job.spec == nil || !slices.Equal(q.inputs, inputs)
	}); i > 0 {
		same = i
	}
	told := make(chan struct{})
	b.postToLoop(func(t *turn) {
		defer close(told)
		for _, q := range list[:same] {
			t.tellDescribed(q, allowed, err, need, bring)
		}
	})
	select {
	case <-told:
	case <-b.ctx.Done():
	}
	if same < len(list) {
		b.describeGroup(ctx, list[same:])
	}
}

// tellDescribed tells the engine what is known of a job by now.
func (t *turn) tellDescribed(q describeQuestion, allowed []core.ClusterID, err error, need predict.Demand,
	bring []time.Duration) {
	j, in := q.job, core.Input{Kind: core.Described, Job: q.job.rec.ID}
	j.nowhere = ""
	if err != nil {
		j.nowhere = oneLine(err)
	} else {
		in.Spec = t.coreJob(ownerOf(&j.rec), j.spec, allowed, need, bring)
		in.Spec.Deadline = j.rec.Deadline
	}
	t.markSent(q.command)
	t.settleJob(j)
	t.stepEngine(&in)
}

// enterUndescribed hands a job to the engine of which has to be found out what is
// known. targets are those that were counted before in the same turn.
func (t *turn) enterUndescribed(j *job, targets map[targetKey]core.Target) {
	proto := t.coreJob(ownerOf(&j.rec), j.spec, nil, predict.Demand{}, nil)
	proto.Deadline = j.rec.Deadline
	t.enterEngine(j, &core.Input{Kind: core.Submit, Spec: proto, Undescribed: true}, targets)
}
