package engine_test

import (
	"math"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// next is what the engine is told next; false if nothing is to be told.
func (o *outside) next(now core.Time) (core.Input, bool) {
	o.startQueued()
	for range 4 {
		switch o.IntN(10) {
		case 0, 1, 2:
			o.somebodyActs()
		case 3:
			if !o.calm {
				o.gridChanges()
			}
		case 4:
			if in, ok := o.echo(); ok && !o.calm {
				return in, true
			}
		case 5:
			if !o.calm {
				return o.nonsense(), true
			}
		default:
			if in, ok := o.deliver(); ok {
				return in, true
			}
		}
	}
	return o.deliver()
}

// deliver takes a message that is under way. Those of one attempt arrive in
// order, save that news of starting and ending may overtake others.
func (o *outside) deliver() (core.Input, bool) {
	o.attempts = slices.DeleteFunc(o.attempts, func(a *attempt) bool { return a.dead && len(a.outbox)+len(a.pieces) == 0 })
	if len(o.news) > 0 && (len(o.attempts) == 0 || o.IntN(3) == 0) {
		in := o.news[0]
		o.news = o.news[1:]
		if in.Kind == core.Returned {
			o.returned[in.Job] = true
		}
		return in, true
	}
	for _, i := range o.Perm(len(o.attempts)) {
		a := o.attempts[i]
		if len(a.outbox) == 0 {
			continue
		}
		k := 0
		if len(a.outbox) > 1 && a.outbox[0].Kind == core.Started && o.IntN(4) == 0 {
			k = 1
		}
		in := a.outbox[k]
		a.outbox = slices.Delete(a.outbox, k, k+1)
		if o.heard = append(o.heard, in); len(o.heard) > 30 {
			o.heard = o.heard[1:]
		}
		return in, true
	}
	return core.Input{}, false
}

// echo says something again that was said before.
func (o *outside) echo() (core.Input, bool) {
	if len(o.heard) == 0 {
		return core.Input{}, false
	}
	return o.heard[o.IntN(len(o.heard))], true
}

// somebodyActs lets one program do something of its own accord.
func (o *outside) somebodyActs() {
	if len(o.attempts) == 0 {
		return
	}
	a := o.attempts[o.IntN(len(o.attempts))]
	switch {
	case a.dead || !a.running:
		return
	case a.leaving && o.IntN(2) == 0:
		if o.calm || o.IntN(5) > 0 {
			o.vacate(a)
			a.dead = true
			a.say(core.Input{Kind: core.Left})
		} else if o.IntN(2) == 0 { // it cannot be saved
			a.leaving = false
			a.say(core.Input{Kind: core.StaysOn})
		}
		return
	case len(a.offers) > 0:
		c := a.offers[0]
		a.offers = a.offers[1:]
		if o.calm || o.IntN(8) > 0 { // now and then it does not answer
			o.consider(a, c)
		}
		return
	}
	switch o.IntN(12) {
	case 0, 1:
		o.vacate(a)
		a.dead = true
		a.say(core.Input{Kind: core.Ended, ExitCode: max(0, o.IntN(6)-4)})
	case 2:
		if !o.calm {
			o.vacate(a)
			a.dead = true
			a.say(core.Input{Kind: core.Crashed, Cause: []string{"", "preempted"}[o.IntN(2)]})
		}
	case 3:
		o.giveBack(a)
	case 4:
		a.say(core.Input{Kind: core.Ask, Part: o.IntN(len(a.pieces)), N: 1 + o.IntN(5), Mandatory: o.IntN(2) == 0})
	case 5:
		a.say(core.Input{Kind: core.Progress, Done: o.Float64()})
	case 6:
		a.say(core.Input{Kind: core.ContractBroken, Done: o.Float64()})
	}
}

// consider answers an offer: all, some or none of it.
func (o *outside) consider(a *attempt, c core.Command) {
	p := a.piece(c.Part)
	in := core.Input{Kind: core.Answer, Part: c.Part, Serial: c.Serial, Done: o.Float64()}
	n := max(c.N, -c.N)
	if in.N = n; o.IntN(3) == 0 && !(c.Mandatory && o.calm) {
		in.N = o.IntN(n + 1)
	}
	switch {
	case o.spec.Clusters[p.cluster].Managed && c.N > 0: // it has them when the manager says so
	case c.N > 0:
		got, _ := c.Procs.SplitLast(n - in.N)
		if o.take(a.job, p.cluster, got) {
			p.procs = p.procs.Union(got)
		} else {
			in.N = 0 // a local user was faster, or a host failed
		}
	default:
		in.N = min(in.N, p.size-p.least)
		o.shed(p, in.N)
	}
	if !o.spec.Clusters[p.cluster].Managed {
		p.size = p.procs.CountProcs()
	}
	a.say(in)
}

func (o *outside) shed(p *piece, n int) {
	if o.spec.Clusters[p.cluster].Managed {
		p.size -= n
		o.used[p.cluster] -= n
		return
	}
	kept, back := p.procs.SplitLast(n)
	p.size -= n
	o.mark(p.cluster, back, nobody)
	p.procs = kept
}

func (o *outside) giveBack(a *attempt) {
	p := a.pieces[o.IntN(len(a.pieces))]
	n := min(1+o.IntN(3), p.size-p.least)
	if n <= 0 || a.spec.Kind != core.Malleable {
		return
	}
	o.shed(p, n)
	p.returns++
	a.say(core.Input{Kind: core.GiveBack, Part: p.part, N: n, Serial: p.returns})
}

// gridChanges: hosts fail and come back, others come and go, and in time the
// engine hears of it.
func (o *outside) gridChanges() {
	c := core.ClusterID(o.IntN(len(o.owner)))
	if o.spec.Clusters[c].Managed {
		return
	}
	lo := o.IntN(len(o.owner[c]))
	set := core.ProcSet{{Lo: int32(lo), Hi: int32(min(lo+1+o.IntN(4), len(o.owner[c])))}}
	switch o.IntN(6) {
	case 4, 5:
		in := core.Input{Kind: core.DrainCluster + core.InputKind(o.IntN(2)), Cluster: c, Drain: &core.Drain{By: "root"}}
		if hosts := o.spec.Clusters[c].Hosts; o.IntN(3) > 0 {
			in.Drain.Host = hosts[o.IntN(len(hosts))].Name
		}
		o.news = append(o.news, in)
	case 0:
		if o.IntN(3) == 0 {
			o.fail(c, set)
		}
	case 1:
		each(set, func(p int) {
			if o.owner[c][p] == down {
				o.owner[c][p] = nobody
			}
		})
		o.news = append(o.news, core.Input{Kind: core.HostsUp, Cluster: c, Procs: set})
	case 2:
		each(set, func(p int) {
			if o.owner[c][p] == nobody {
				o.owner[c][p] = somebody
			}
		})
	case 3:
		each(set, func(p int) {
			if o.owner[c][p] == somebody {
				o.owner[c][p] = nobody
			}
		})
		o.news = append(o.news, core.Input{Kind: core.Polled, Cluster: c, Procs: o.with(c, somebody)})
	}
}

func (o *outside) fail(c core.ClusterID, set core.ProcSet) {
	for _, a := range o.attempts {
		for _, p := range a.pieces {
			if p.cluster == c && p.procs.Intersects(set) && !a.dead {
				a.dead = true
				a.say(core.Input{Kind: core.Crashed}) // somebody beside it notices
			}
		}
	}
	each(set, func(p int) { o.owner[c][p] = down })
	o.news = append(o.news, core.Input{Kind: core.HostsDown, Cluster: c, Procs: set})
}

// recover puts everything right, so that all jobs can end.
func (o *outside) recover() {
	o.calm = true
	for c := range o.owner {
		id := core.ClusterID(c)
		o.news = append(o.news, core.Input{Kind: core.HostsUp, Cluster: id, Procs: o.with(id, down)})
		for p, by := range o.owner[c] {
			if by == down || by == somebody {
				o.owner[c][p] = nobody
			}
		}
		o.news = append(o.news, core.Input{Kind: core.Polled, Cluster: id},
			core.Input{Kind: core.UndrainCluster, Cluster: id, Drain: &core.Drain{}})
		for _, h := range o.spec.Clusters[c].Hosts {
			o.news = append(o.news, core.Input{Kind: core.UndrainCluster, Cluster: id, Drain: &core.Drain{Host: h.Name}})
		}
	}
}

// nonsense is a message that nobody should send.
func (o *outside) nonsense() core.Input {
	in := core.Input{Kind: core.InputKind(o.IntN(int(core.Assessed) + 1)), Job: core.JobID(o.IntN(40) - 2),
		Epoch: core.Epoch(100 + o.IntN(3)), Part: o.IntN(5) - 1,
		Cluster: core.ClusterID(len(o.owner) + o.IntN(3) - 3*o.IntN(2)*len(o.owner)), N: o.IntN(30) - 10, Serial: o.IntN(5),
		Done: math.NaN()}
	switch in.Kind {
	case core.Polled, core.HostsDown, core.HostsUp:
		in.Procs = core.ProcSet{{Lo: 90, Hi: 99}}
	case core.Cancel, core.StopJob, core.Returned, core.Described, core.HoldJob, core.ReleaseJob, core.RequeueJob,
		core.SuspendJob, core.ContinueJob, core.UpdateJob:
		in.Job = -1
	}
	return in
}
