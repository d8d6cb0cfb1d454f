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

// describeBacklog is, for each user, the jobs of which is still to be found out what is known.
// Hundreds of thousands may be released within seconds: few goroutines of a user see to them.
type describeBacklog struct {
	mu sync.Mutex
	of map[uint32]*userBacklog
}

type userBacklog struct {
	groups  [][]describeQuestion
	workers int
}

// addGroup adds jobs of a user, and reports whether somebody has to begin to see to them.
func (l *describeBacklog) addGroup(user uint32, group []describeQuestion) (needsWorker bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[uint32]*userBacklog{}
	}
	u := l.of[user]
	if u == nil {
		u = &userBacklog{}
		l.of[user] = u
	}
	if u.groups = append(u.groups, group); u.workers == maxDescribing {
		return false
	}
	u.workers++
	return true
}

// nextGroup takes the jobs that come next; nil if there are none and who asks is to end.
func (l *describeBacklog) nextGroup(user uint32) []describeQuestion {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.of[user]
	if len(u.groups) == 0 {
		if u.workers--; u.workers == 0 {
			delete(l.of, user)
		}
		return nil
	}
	group := u.groups[0]
	u.groups[0] = nil
	u.groups = u.groups[1:]
	return group
}

// returnGroup puts back what is left of a group: others' turn comes first.
func (l *describeBacklog) returnGroup(user uint32, group []describeQuestion) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.of[user]
	u.groups = append(u.groups, group)
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
		user := group[0].job.rec.Owner
		if b.describing.addGroup(user, group) {
			b.runUntilStopped(func(ctx context.Context) { b.describeBacklogOf(ctx, user) })
		}
	}
}

// describeBacklogOf does so with the jobs of a user, in the order of each array, until there is none
// left. When the broker ends before that the outbox remembers the others.
func (b *Broker) describeBacklogOf(ctx context.Context, user uint32) {
	for ctx.Err() == nil {
		group := b.describing.nextGroup(user)
		if group == nil {
			return
		}
		some := group[:min(maxDescribedTogether, len(group))]
		b.describeGroup(ctx, some)
		if len(group) > len(some) {
			b.describing.returnGroup(user, group[len(some):])
		}
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
	places, err := b.componentPlaces(ctx, j.spec, inputs)
	for err != nil && !badinput.Is(err) { // the history could not be read
		b.opt.Log.Warn("not known where a job may run", "job", j.rec.ID, "error", err)
		if !clock.SleepContext(ctx, describeRetry) {
			return // the outbox remembers
		}
		places, err = b.componentPlaces(ctx, j.spec, inputs)
	}
	need, _ := b.estimates.JobNeed(ctx, j.spec)
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
			t.tellDescribed(q, places, err, need)
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
func (t *turn) tellDescribed(q describeQuestion, places []componentPlace, err error, need predict.Demand) {
	j, in := q.job, core.Input{Kind: core.Described, Job: q.job.rec.ID}
	j.nowhere = ""
	if err != nil {
		j.nowhere = oneLine(err)
	} else {
		in.Spec = t.coreJob(ownerOf(&j.rec), j.spec, places, need)
		in.Spec.Deadline = j.rec.Deadline
	}
	t.markSent(q.command)
	t.settleJob(j)
	t.stepEngine(&in)
}

// enterUndescribed hands a job to the engine of which has to be found out what is
// known. targets are those that were counted before in the same turn.
func (t *turn) enterUndescribed(j *job, targets map[targetKey]core.Target) {
	proto := t.coreJob(ownerOf(&j.rec), j.spec, nil, predict.Demand{})
	proto.Deadline = j.rec.Deadline
	t.enterEngine(j, &core.Input{Kind: core.Submit, Spec: proto, Undescribed: true}, targets)
}
