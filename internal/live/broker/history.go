package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/live/broker/estimate"
	"github.com/godwit-hpc/godwit/internal/live/broker/pastruns"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// addHistory adds to an attempt what past runs tell of its program.
func (b *Broker) addHistory(ctx context.Context, a *wire.Attempt) {
	program, args := history.SplitCommand(a.Spec.Argv)
	a.MTBF = b.past.MeanTimeBetweenLosses(a.Cluster)
	if a.Spec.Estimate > 0 {
		need, _ := b.estimates.JobNeed(ctx, &a.Spec)
		a.Need = need.Work.Quantiles()
	}
	if runs, err := b.runsOf(ctx, program); err == nil {
		if a.Spec.Estimate == 0 {
			a.Need, _, _ = history.EstimateNeed(runs, program, args)
			a.Alone = knownAlone(runs, program, args, a)
		}
		a.Bytes, a.Duty = history.EstimateBytes(runs, program, args), history.DutyShare(runs, program)
		a.Pace = history.PaceOf(runs, program)
		for i := range runs { // as last measured while it ran there
			if a.SandboxCost = runs[i].SandboxCost; a.SandboxCost > 0 {
				break
			}
		}
		if all, err := b.runsOf(ctx, pastruns.AnyProgram); err == nil {
			a.Band.Low, a.Band.High = history.BandStretch(runs, all, program)
		}
		// Compared with runs outside is better, but says nothing of what it could not do there.
		if cost, ok := history.SandboxCost(runs, program); ok && a.SandboxCost < history.NeverSandbox {
			a.SandboxCost, a.Alone.Sandbox = cost.Ratio, cost.Ratio
		}
	}
}

// knownAlone is what earlier runs tell of the wall time of an attempt's program.
func knownAlone(runs []history.Run, program string, args []string, a *wire.Attempt) wire.Alone {
	alone := history.AloneOf(runs, program, args, max(1, a.Procs))
	k := wire.Alone{Seconds: alone.Quantiles, Waiting: alone.Waiting}
	k.Changes, k.Over = history.ShareChanges(runs, a.Cluster)
	return k
}

// runsOf lists the newest runs of a program of who asks, or of pastruns.AnyProgram.
func (b *Broker) runsOf(ctx context.Context, program string) ([]history.Run, error) {
	u, err := b.requestUser(ctx)
	if err != nil {
		return nil, err
	}
	return b.past.RunsOf(ctx, b.opt.Store, b.pastUser(u.Name), program)
}

// pastUser is whose runs those of a user are.
func (b *Broker) pastUser(user string) string {
	if b.opt.Users == nil {
		return "" // all are one user's, whatever that was called
	}
	return user
}

// ClusterView is a cluster as it is now.
type ClusterView struct {
	Cluster
	Procs, Idle      int
	Others           int // processors that jobs which are not ours hold, or that cannot be had; of one with a manager
	Running, Waiting int // jobs
	Speed, Share     float64
	Away             bool // out of reach
	Drains           []core.Drain
	Why              string
	Reliability      history.Reliability
}

// ListClusters lists the clusters.
func (b *Broker) ListClusters(ctx context.Context) ([]ClusterView, error) {
	var list []ClusterView
	err := b.askLoop(ctx, func(*turn) {
		for _, c := range b.allClusters() {
			w := b.eng.Cluster(c.id)
			if c.Removed && !b.eng.InUse(c.id) {
				continue
			}
			v := ClusterView{Cluster: c.Cluster, Procs: w.Procs, Idle: w.Idle, Speed: w.Speed, Drains: w.Drains}
			if c.Managed {
				v.Others = w.Others
			}
			for _, j := range b.placed.jobsAt(c.Name) {
				if j.state == core.Running || j.state == core.Stopping {
					v.Running++
				} else {
					v.Waiting++
				}
			}
			list = append(list, v)
		}
	})
	if err != nil {
		return nil, err
	}
	b.askLoads(ctx, list)
	if u, err := b.requestUser(ctx); err != nil || u.ID != 0 {
		hideNames(list)
	}
	for i := range list {
		c := b.clusterNamed(list[i].Name)
		runs, err := b.opt.Store.ListRuns(ctx, store.Past{Cluster: c.Name, Limit: history.EstimateRows})
		if err != nil {
			return nil, err
		}
		list[i].Reliability = history.ReliabilityOf(runs)
	}
	return list, nil
}

// hideNames leaves out of the words of clusters what others run there, and how the
// broker itself gets there.
func hideNames(list []ClusterView) {
	for i := range list {
		if list[i].Away {
			list[i].Why = "out of reach"
		}
		list[i].Why, _, _ = strings.Cut(list[i].Why, " (")
	}
}

// loadQueryTimeout is how long who lists clusters waits for one of them.
const loadQueryTimeout = 5 * time.Second

// askLoads asks all clusters at once how busy they are. One that does not say is
// out of reach.
func (b *Broker) askLoads(ctx context.Context, list []ClusterView) {
	ctx, cancel := context.WithTimeout(ctx, loadQueryTimeout)
	defer cancel()
	var all sync.WaitGroup
	for i := range list {
		v := &list[i]
		all.Go(func() {
			load, err := v.Driver.MeasureLoad(ctx)
			if err != nil {
				v.Away, v.Why = true, err.Error()
				if errors.Is(err, context.DeadlineExceeded) {
					v.Why = fmt.Sprintf("no answer within %s; at first our binaries are brought there", loadQueryTimeout)
				}
				return
			}
			v.Share, v.Why = load.Share, load.Why
			if v.Managed && load.Usage != nil { // newer than what the engine was told
				others := usageFromLoad(&load).withinOffer(v.Procs)
				v.Idle, v.Others = v.Idle+v.Others-others, others
				b.tellUsage(b.clusterNamed(v.Name), &load)
			}
			if v.Cluster.Away != nil { // it answers, so it can say what it consists of
				b.clusterNamed(v.Name).askAgain()
			}
		})
	}
	all.Wait()
}

// PastOf is what past runs of one program in one cluster were like.
type PastOf struct {
	Program, Cluster string
	Runs             []history.Run // newest first
}

// ofOthers stands for all programs of other users: what these ran is theirs.
const ofOthers = "(jobs of others)"

// ListHistory lists past runs by program and cluster. Of those of other users a user
// sees no more than what all of them together were like in each cluster.
func (b *Broker) ListHistory(ctx context.Context, program string) ([]PastOf, error) {
	u, err := b.requestUser(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := b.opt.Store.ListRuns(ctx, store.Past{Program: program, Limit: 20 * history.EstimateRows})
	if err != nil {
		return nil, err
	}
	var list []PastOf
	if program == "" {
		list = b.queueClasses(runs)
	}
	if u.ID != 0 {
		others := func(r *history.Run) bool { return r.User != u.Name }
		runs = slices.DeleteFunc(runs, func(r history.Run) bool { return program != "" && others(&r) })
		for i := range runs {
			if others(&runs[i]) {
				runs[i] = history.Run{Cluster: runs[i].Cluster, Program: ofOthers, Outcome: runs[i].Outcome, Need: runs[i].Need,
					Requested: runs[i].Requested, Started: runs[i].Started, Ended: runs[i].Ended, Deadline: runs[i].Deadline}
			}
		}
	}
	at := map[[2]string]int{}
	for _, r := range runs {
		k := [2]string{r.Program, r.Cluster}
		i, known := at[k]
		if !known {
			i = len(list)
			at[k] = i
			list = append(list, PastOf{Program: r.Program, Cluster: r.Cluster})
		}
		list[i].Runs = append(list[i].Runs, r)
	}
	slices.SortFunc(list, func(a, b PastOf) int {
		return slices.Compare([]string{a.Program, a.Cluster}, []string{b.Program, b.Cluster})
	})
	return list, nil
}

// QuoteCalibration is how past quotes held.
func (b *Broker) QuoteCalibration(ctx context.Context) (history.Held, error) {
	quotes, err := b.opt.Store.ListQuotes(ctx, store.Past{})
	if err != nil {
		return history.Held{}, err
	}
	return history.CalibrateQuotes(quotes)[""], nil
}

// queueClasses are, for clusters with a queue of their own, the classes of jobs by which
// waits in it are told apart, whoever's they were and whatever they ran.
func (b *Broker) queueClasses(runs []history.Run) []PastOf {
	byClass := map[string]map[history.WaitClass]*PastOf{}
	for i := range runs {
		r := &runs[i]
		if c := b.clusterNamed(r.Cluster); c == nil || !c.Managed || r.Started == 0 {
			continue
		}
		of := byClass[r.Cluster]
		if of == nil {
			of = map[history.WaitClass]*PastOf{}
			byClass[r.Cluster] = of
		}
		class := history.WaitClassOf(r.Requested, r.Length, r.Procs)
		class.Quarter = 0
		if of[class] == nil {
			of[class] = &PastOf{Program: "(queue: jobs " + class.String() + ")", Cluster: r.Cluster}
		}
		of[class].Runs = append(of[class].Runs,
			history.Run{Cluster: r.Cluster, Outcome: r.Outcome, Requested: r.Requested, Started: r.Started, Ended: r.Ended,
				Deadline: r.Deadline})
	}
	var list []PastOf
	for _, of := range byClass { // order-free: the list is sorted
		for _, p := range of {
			if len(p.Runs) >= estimate.MinWaits {
				list = append(list, *p)
			}
		}
	}
	return list
}
