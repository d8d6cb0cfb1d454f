package agent

import (
	"os"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/agent/hosthelper"
	"github.com/godwit-hpc/godwit/internal/agent/parallel"
	"github.com/godwit-hpc/godwit/internal/agent/watch"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// maxHelperInterval is how often a helper at least looks at its host: what a process does after the last look at it is
// not counted.
const maxHelperInterval = 500 * time.Millisecond

// startHelpers has a helper on each further host of the program that begins.
func (l *life) startHelpers() {
	hosts := parallel.HostsOf(l.attempt)
	if len(hosts) < 2 || l.helpers != nil {
		return
	}
	procs := parallel.HostSlots(l.attempt)
	l.meter = hosthelper.NewShareMeter(procs[0])
	l.helpers = hosthelper.StartKeeper(hosthelper.Options{Mark: l.attempt.Mark, Hosts: hosts[1:], Procs: procs[1:],
		Every: min(watch.SampleInterval(l.attempt), maxHelperInterval),
		HelperCommand: func(host string, words []string) ([]string, error) {
			return parallel.HelperCommand(host, words, os.Getenv)
		}})
}

// usage is what all processes of the attempt use, on all of its hosts.
func (l *life) usage() proctree.Usage {
	here := l.around.usage(l.attempt.Mark)
	if l.helpers == nil {
		return here
	}
	l.meter.AddSample(l.sinceBirth(), here.CPU)
	return hosthelper.SumOf(here, l.helpers.Usage())
}

// noteHosts tells explain of hosts that are not heard any more, or are again.
func (l *life) noteHosts() {
	for _, c := range l.helpers.TakeChanges() {
		switch ranks := rankText(c.Ranks); {
		case c.Away == "":
			l.sendNote("hosts", c.Host+" is heard again", "its helper has been replaced", nil)
		case !c.Known:
			l.sendNote("hosts", "nothing is known of what runs on "+c.Host, c.Away, nil)
		case ranks == "":
			l.sendNote("hosts", c.Host+" is not heard any more", c.Away, nil)
		default:
			l.sendNote("hosts", c.Host+" is not heard any more, where "+ranks+" ran", c.Away, nil)
		}
	}
}

// rankText names ranks of a parallel program; "" for none.
func rankText(ranks []int) string {
	text := core.NewProcSet(ranks).String()
	switch len(ranks) {
	case 0:
		return ""
	case 1:
		return "rank " + text
	}
	return "ranks " + text
}

// hostUsage is how each host of the attempt does, if it has several.
func (l *life) hostUsage() []wire.HostUsage {
	if l.helpers == nil {
		return nil
	}
	hosts, here := parallel.HostsOf(l.attempt), l.around.usage(l.attempt.Mark)
	own := wire.HostUsage{Host: hosts[0], CPU: here.CPU.Seconds(), Memory: here.Memory, Share: l.meter.Share(),
		Ranks: core.NewProcSet(hosthelper.RanksAmong(proctree.TreeOf(l.attempt.Mark).LivePids())).String()}
	return append([]wire.HostUsage{own}, l.helpers.HostUsage()...)
}

// lostRanks says which ranks ran on a host when it was last heard; "": none, or it is not known.
func (l *life) lostRanks(host string) string {
	if text := rankText(l.helpers.RanksOn(strings.TrimSpace(host))); text != "" {
		return " (" + text + " ran there)"
	}
	return ""
}
