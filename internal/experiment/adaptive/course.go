package adaptive

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/api"
	"github.com/godwit-hpc/godwit/internal/jobfile"
)

// Point is what was known of a job at one moment.
type Point struct {
	At               float64 // seconds since submission
	Cluster          string
	Share            float64
	Early, Mid, Late float64 // predicted end: 5 %, 50 %, 95 %; 0 if nothing was predicted
	Chance           float64 // -1 if unknown
	Progress         float64 // -1 if unknown
}

// Course is the life of one job.
type Course struct {
	Name     string
	Points   []Point
	News     []api.Decision
	LoadAt   float64 // when others began to compute; 0 if they never did
	Deadline float64 // seconds since submission; 0 if none
	Final    api.Job
}

// Took is the seconds from submission to end.
func (c *Course) Took() float64 { return seconds(c.Final.Submitted, c.Final.Ended) }

// Met says whether the job ended in time.
func (c *Course) Met() bool { return c.Final.DeadlineMet != nil && *c.Final.DeadlineMet }

// Act is something that happens while a job runs.
type Act struct {
	After time.Duration // since submission
	Do    func() error
}

// Run submits a job and writes down its life. Acts are done in their order. Say,
// if not nil, is told the news as they come.
func (b *Bed) Run(ctx context.Context, name string, spec *jobfile.Job, acts []Act, say func(at float64, text string)) (*Course, error) {
	ids, err := b.Client.Submit(ctx, &api.Submit{Job: *spec})
	if err != nil {
		return nil, err
	}
	id := fmt.Sprint(ids.IDs[0])
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	began := b.clock()
	go func() {
		for _, a := range acts {
			select {
			case <-time.After(a.After - b.clock.Since(began)):
			case <-ctx.Done():
				return
			}
			if err := a.Do(); err != nil {
				cancel(err)
				return
			}
		}
	}()
	c := &Course{Name: name, Deadline: spec.Deadline.Seconds()}
	err = b.Client.Watch(ctx, id, func(l *api.Live) error {
		c.see(l, b.clock.Since(began).Seconds(), say)
		return nil
	})
	if err != nil {
		_, _ = b.Client.Cancel(context.WithoutCancel(ctx), id) // the first error says more
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, err
	}
	return c, nil
}

// see adds a line of the watched job to the course.
func (c *Course) see(l *api.Live, at float64, say func(float64, string)) {
	c.Final = l.Job
	for _, n := range l.News {
		c.News = append(c.News, n)
		if say != nil && n.News {
			say(n.SinceS, n.Choice+": "+n.Why)
		}
	}
	j := &l.Job
	p := Point{At: at, Cluster: j.Cluster, Chance: -1, Progress: -1,
		Early: seconds(j.Submitted, j.EndEarly), Mid: seconds(j.Submitted, j.PredictedEnd), Late: seconds(j.Submitted, j.EndLate)}
	if j.Share != nil {
		p.Share = *j.Share
	}
	if j.PDeadline != nil {
		p.Chance = *j.PDeadline
	}
	if j.Progress != nil {
		p.Progress = *j.Progress
	}
	c.Points = append(c.Points, p)
}

// Moves lists when the job was moved, in seconds since submission.
func (c *Course) Moves() []float64 {
	var list []float64
	for _, n := range c.News {
		if n.Kind == "move" && strings.HasPrefix(n.Choice, "move") {
			list = append(list, n.SinceS)
		}
	}
	return list
}

// seconds from one moment to another; 0 if one is not known.
func seconds(from, to *api.Time) float64 {
	if from == nil || to == nil {
		return 0
	}
	return to.Sub(from.Time).Seconds()
}
