package adaptive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/cli/demo/testbed"
	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// Point is what was known of a job at one moment.
type Point struct {
	At               float64 // seconds since submission
	Cluster          string
	Share            float64
	Early, Mid, Late float64 // predicted end: 5 %, 50 %, 95 %, in seconds since submission; 0 if nothing was predicted
	Chance           float64 // of meeting the deadline; -1 if unknown
	Progress         float64 // -1 if unknown
}

// Course is the life of one job.
type Course struct {
	Name     string
	Points   []Point
	News     []api.Decision
	LoadAt   float64 // when others began to compute; 0 if they never did
	Deadline float64 // seconds since submission; 0 if none
	Output   string  // a hash of what the program wrote
	Free     float64 // before it: the part of a processor a newcomer would have got, in the fuller cluster
	Final    api.Job
}

// TookSeconds is the seconds from submission to end.
func (c *Course) TookSeconds() float64 { return secondsBetween(c.Final.Submitted, c.Final.Ended) }

// MetDeadline says whether the job ended in time.
func (c *Course) MetDeadline() bool { return c.Final.DeadlineMet != nil && *c.Final.DeadlineMet }

// describeMargin says how long before or after its deadline a job ended.
func describeMargin(c *Course) string {
	if m := c.Deadline - c.TookSeconds(); m >= 0 {
		return fmt.Sprintf("%.1f s before its deadline", m)
	}
	return fmt.Sprintf("%.1f s after its deadline", c.TookSeconds()-c.Deadline)
}

// MoveTimes lists when the job was moved, in seconds since submission.
func (c *Course) MoveTimes() []float64 {
	var list []float64
	for _, n := range c.News {
		if n.Kind == "move" && strings.HasPrefix(n.Choice, "move") {
			list = append(list, n.SinceS)
		}
	}
	return list
}

// CompetingLoad are programs that begin to compute where a job began.
type CompetingLoad struct {
	N     int           // 0: nobody comes
	After time.Duration // since submission
}

// RunJob submits a job that begins at home and writes down its life, while others
// begin to compute at home. Say, if not nil, is told what happens as it happens.
func (b *Bed) RunJob(ctx context.Context, name string, spec *jobfile.Job, others CompetingLoad,
	say func(at float64, text string)) (*Course, error) {
	free, err := b.leastFreeShare(ctx)
	if err != nil {
		return nil, err
	}
	j, err := b.SubmitTo(ctx, Home, spec)
	if j.ID == 0 {
		return nil, err
	}
	id := fmt.Sprint(j.ID)
	c := &Course{Name: name, Deadline: spec.Deadline.Seconds(), Free: free}
	if err == nil {
		err = b.followToEnd(ctx, c, &j, others, oneAtATime(say))
	}
	if err != nil {
		_, e := b.Client.CancelJob(context.WithoutCancel(ctx), id)
		return nil, errors.Join(err, e)
	}
	if c.Output, err = b.outputHash(ctx, id); err != nil {
		return nil, err
	}
	if code := c.Final.ExitCode; code == nil || *code != 0 {
		return nil, fmt.Errorf("%s: job %s is %s: %s", name, id, c.Final.State, c.Final.Why)
	}
	return c, nil
}

// leastFreeShare is the part of a processor that a newcomer would get now in the fuller
// cluster.
func (b *Bed) leastFreeShare(ctx context.Context) (float64, error) {
	clusters, err := b.Client.ListClusters(ctx)
	least := 1.0
	for _, c := range clusters {
		least = min(least, c.Share)
	}
	return least, err
}

// oneAtATime lets several goroutines say something; nil says nothing.
func oneAtATime(say func(float64, string)) func(float64, string) {
	if say == nil {
		return func(float64, string) {}
	}
	var mu sync.Mutex
	return func(at float64, text string) {
		mu.Lock()
		defer mu.Unlock()
		say(at, text)
	}
}

// followToEnd watches a job to its end.
func (b *Bed) followToEnd(ctx context.Context, c *Course, j *api.Job, others CompetingLoad,
	say func(float64, string)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	come := make(chan arrival, 1)
	go func() { come <- b.startOthers(ctx, cancel, j.Submitted.Time, others, say) }()
	err := b.Client.WatchJob(ctx, fmt.Sprint(j.ID), func(l *api.Live) error {
		c.addLine(l, b.Clock(), say)
		return nil
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	cancel(nil)
	came := <-come
	c.LoadAt = came.at
	return errors.Join(err, came.load.Stop())
}

// arrival is when others began to compute, if they did.
type arrival struct {
	load *testbed.Competitors
	at   float64
}

// startOthers waits until it is time and starts the others.
func (b *Bed) startOthers(ctx context.Context, fail context.CancelCauseFunc, submitted time.Time, others CompetingLoad,
	say func(float64, string)) arrival {
	if others.N == 0 {
		return arrival{}
	}
	if !clock.SleepContext(ctx, others.After-b.Clock.Since(submitted)) {
		return arrival{}
	}
	load, err := testbed.StartCompetitors(b.Core[Home], others.N, 0)
	if err != nil {
		fail(err)
		return arrival{}
	}
	at := b.Clock.Since(submitted).Seconds()
	say(at, fmt.Sprintf("%d others begin to compute in %s", others.N, Home))
	return arrival{load, at}
}

// outputHash is a hash of what the program wrote: equal where the output is.
func (b *Bed) outputHash(ctx context.Context, id string) (string, error) {
	var out bytes.Buffer
	if _, err := b.Client.CopyLogs(ctx, id, 1, 0, false, &out); err != nil {
		return "", err
	}
	sum := sha256.Sum256(out.Bytes())
	return hex.EncodeToString(sum[:]), nil
}

// addLine adds a line of the watched job to the course.
func (c *Course) addLine(l *api.Live, now time.Time, say func(float64, string)) {
	c.Final = l.Job
	for _, n := range l.News {
		c.News = append(c.News, n)
		if worthSaying(&n) {
			say(n.SinceS, n.Choice+": "+n.Why)
		}
	}
	j := &l.Job
	if j.Submitted == nil {
		return
	}
	p := Point{At: now.Sub(j.Submitted.Time).Seconds(), Cluster: j.Cluster, Chance: -1, Progress: -1,
		Early: secondsBetween(j.Submitted, j.EndEarly), Mid: secondsBetween(j.Submitted, j.PredictedEnd),
		Late: secondsBetween(j.Submitted, j.EndLate)}
	if j.Share != nil {
		p.Share = *j.Share
	}
	if j.PDeadline != nil {
		p.Chance = *j.PDeadline
	}
	if j.Progress != nil {
		p.Progress = *j.Progress
	}
	if n := len(c.Points); n > 0 && p.At < c.Points[n-1].At+minPointSpacing && p.Cluster == c.Points[n-1].Cluster {
		return // a line comes also when the program wrote something
	}
	c.Points = append(c.Points, p)
}

// minPointSpacing is the least time between two points of a course, in seconds.
const minPointSpacing = 0.5

// worthSaying leaves out what the reader of a timeline knows already.
func worthSaying(n *api.Decision) bool {
	switch n.Kind {
	case "submit", "method", "end", "wait":
		return false
	case "decide": // the move itself says the same
		return !strings.HasPrefix(n.Choice, "move")
	}
	return true
}

// PredictionErrors lists how far the predicted remaining time was off, as a part of the
// actual one, from one third of the run on. Of the last twentieth nothing is
// said: what is left there is shorter than the time between two looks.
func (c *Course) PredictionErrors() []float64 {
	var list []float64
	c.eachJudged(1./3, func(p Point, left float64) {
		list = append(list, math.Abs((p.Mid-p.At)-left)/left)
	})
	return list
}

// CountBands counts the predictions from one tenth of the run on, and those whose
// 90 % band the job's end lay in.
func (c *Course) CountBands() (held, all int) {
	c.eachJudged(0.1, func(p Point, _ float64) {
		all++
		if end := c.TookSeconds(); p.Early <= end && end <= p.Late {
			held++
		}
	})
	return held, all
}

// eachJudged calls see with every prediction made from a part of the run on, until
// its last twentieth begins, and with what was really left then.
func (c *Course) eachJudged(from float64, see func(p Point, left float64)) {
	took := c.TookSeconds()
	for _, p := range c.Points {
		if p.Mid > 0 && p.At >= from*took && p.At <= 0.95*took {
			see(p, took-p.At)
		}
	}
}

// secondsBetween from one moment to another; 0 if one is not known.
func secondsBetween(from, to *api.Time) float64 { return testbed.SecondsBetween(from, to) }
