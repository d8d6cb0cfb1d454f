package engine_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

func seconds(t core.Time) string { return strconv.FormatFloat(t.Seconds(), 'f', -1, 64) + " s" }

func (s *stage) cluster(id core.ClusterID) string { return s.spec.Clusters[id].Name }

// event writes an event as a line for people.
func (s *stage) event(ev *core.Event) string {
	var b strings.Builder
	part := func() string {
		j := fmt.Sprintf("job %d", ev.Job)
		if ev.Part > 0 {
			j += fmt.Sprintf(" part %d", ev.Part)
		}
		return j
	}
	switch ev.Kind {
	case core.JobSubmitted:
		fmt.Fprintf(&b, "job %d is submitted", ev.Job)
	case core.JobBecame:
		fmt.Fprintf(&b, "job %d %v → %v", ev.Job, ev.From, ev.To)
		if ev.When != 0 && ev.When != core.Never {
			fmt.Fprintf(&b, " until %s", seconds(ev.When))
		}
		if at, aimed := ev.Aim.Cluster(); aimed {
			fmt.Fprintf(&b, " for %s", s.cluster(at))
		}
	case core.JobEnqueued:
		fmt.Fprintf(&b, "job %d to the tail of the queue", ev.Job)
		if ev.When > 0 {
			fmt.Fprintf(&b, " until %s", seconds(ev.When))
		}
	case core.QueueScanned:
		b.WriteString("the queue is scanned")
	case core.PartPlanned:
		fmt.Fprintf(&b, "%s epoch %d planned on %s: %d within [%d, %d]", part(), ev.Epoch, s.cluster(ev.Cluster), ev.N,
			ev.Min, ev.Max)
		if len(ev.Procs) > 0 {
			fmt.Fprintf(&b, ", holds %v", ev.Procs)
		}
		if ev.When > 0 {
			fmt.Fprintf(&b, ", claim at %s", seconds(ev.When))
		}
	case core.PartHeld:
		fmt.Fprintf(&b, "%s holds %v of %s", part(), ev.Procs, s.cluster(ev.Cluster))
	case core.RanksOrdered:
		fmt.Fprintf(&b, "%s: its nodes on hosts %v of %s", part(), ev.Ranks, s.cluster(ev.Cluster))
	case core.InputRouted:
		from := "through the broker"
		if at, direct := ev.Aim.Cluster(); direct {
			from = "from " + s.cluster(at)
		}
		fmt.Fprintf(&b, "job %d: its input %d comes to %s %s", ev.Job, ev.N, s.cluster(ev.Cluster), from)
	case core.NetworkFelt:
		fmt.Fprintf(&b, "the network of %s is known", s.cluster(ev.Cluster))
	case core.ClusterRated:
		fmt.Fprintf(&b, "%s is expected to bring %g of its jobs to their end", s.cluster(ev.Cluster), ev.Rating)
	case core.PartOffered:
		fmt.Fprintf(&b, "%s is offered %+d on %s (%v)%s", part(), ev.N, s.cluster(ev.Cluster), ev.Procs, must(ev.Mandatory))
		if ev.When != core.Never && ev.Mandatory {
			fmt.Fprintf(&b, " until %s", seconds(ev.When))
		}
	case core.PartSilent:
		fmt.Fprintf(&b, "%s is silent", part())
	case core.PartAccepted:
		fmt.Fprintf(&b, "%s accepts %d, which %s is asked for until %s", part(), ev.N, s.cluster(ev.Cluster), seconds(ev.When))
	case core.PartAnswered:
		fmt.Fprintf(&b, "%s accepts %d", part(), ev.N)
	case core.PartAsked:
		fmt.Fprintf(&b, "%s asks for %d%s", part(), ev.N, must(ev.Mandatory))
	case core.JobSized:
		fmt.Fprintf(&b, "job %d is to have %d", ev.Job, ev.N)
	case core.PartGaveBack:
		fmt.Fprintf(&b, "%s gives back %v", part(), ev.Procs)
	case core.JobProgressed:
		fmt.Fprintf(&b, "job %d has done %g", ev.Job, ev.Done)
	case core.OthersPolled, core.HostsFailed, core.HostsJoined:
		fmt.Fprintf(&b, "%v %s: {%v}", ev.Kind, s.cluster(ev.Cluster), ev.Procs)
	case core.ReclaimBegan:
		fmt.Fprintf(&b, "reclaiming %d on %s", ev.N, s.cluster(ev.Cluster))
	case core.JobJudged:
		verdict := "stays"
		if at, moves := ev.Aim.Cluster(); moves {
			verdict = "goes to " + s.cluster(at)
		}
		fmt.Fprintf(&b, "job %d %s", ev.Job, verdict)
		if g := ev.Gain; g != nil {
			fmt.Fprintf(&b, " [current %g, new %g, cost %g, gain %.3f, threshold %.3f]", g.Current, g.New, g.Cost.TotalSeconds(),
				g.Gain, g.Threshold)
		}
		if len(ev.Procs) > 0 {
			fmt.Fprintf(&b, ", %d held for it (%v)", ev.N, ev.Procs)
		}
	case core.RescheduleAsked:
		fmt.Fprintf(&b, "job %d is to be looked at", ev.Job)
	case core.RescheduleBegan:
		fmt.Fprintf(&b, "job %d is looked at", ev.Job)
	case core.ClusterFelt:
		fmt.Fprintf(&b, "%s gives a newcomer %g of a processor", s.cluster(ev.Cluster), ev.Share)
	case core.ClusterDefined:
		fmt.Fprintf(&b, "%s has %d processors", ev.Grid.Name, ev.Grid.TotalProcs())
		if ev.Grid.Removed {
			b.WriteString(" and is removed")
		}
	case core.JobPinned:
		where := "anywhere again"
		if at, pinned := ev.Aim.Cluster(); pinned {
			where = "on " + s.cluster(at) + " alone"
		}
		fmt.Fprintf(&b, "job %d is to be placed %s", ev.Job, where)
	case core.JobHeld:
		fmt.Fprintf(&b, "job %d is held (%v)", ev.Job, ev.Hold)
		if ev.When > 0 {
			fmt.Fprintf(&b, " until %s", seconds(ev.When))
		}
	case core.ClusterDrained:
		fmt.Fprint(&b, ev.Drain.Sentence(s.cluster(ev.Cluster)))
	case core.ClustersApart:
		with, _ := ev.Aim.Cluster()
		fmt.Fprintf(&b, "%s and %s are apart until %s", s.cluster(ev.Cluster), s.cluster(with), seconds(ev.When))
	case core.ClusterUndrained:
		fmt.Fprintf(&b, "%s is used again", strings.TrimSuffix(s.cluster(ev.Cluster)+"/"+ev.Drain.Host, "/"))
	case core.JobWaits:
		fmt.Fprintf(&b, "job %d waits", ev.Job)
	case core.JobReleased, core.JobDescribed, core.JobSuspended, core.JobContinued, core.JobUpdated:
		fmt.Fprintf(&b, "job %d is %s", ev.Job, strings.TrimPrefix(ev.Kind.String(), "job-"))
	case core.JobHeldByUser:
		fmt.Fprintf(&b, "job %d is not to be placed", ev.Job)
	case core.JobReleasedByUser:
		fmt.Fprintf(&b, "job %d may be placed again", ev.Job)
	case core.ResultsReturned:
		fmt.Fprintf(&b, "job %d has returned its results, %v", ev.Job, ev.To)
	case core.ReclaimEnded:
		fmt.Fprintf(&b, "reclaimed on %s for job %d", s.cluster(ev.Cluster), ev.Job)
	default:
		fmt.Fprintf(&b, "%s %v", part(), ev.Kind)
	}
	if why := ev.WhyText(s.cluster(ev.Cluster)); why != "" && ev.Kind != core.JobSubmitted {
		b.WriteString(": " + why)
	}
	return b.String()
}

func must(mandatory bool) string {
	if mandatory {
		return ", must"
	}
	return ""
}

// command writes a command as a line.
func (s *stage) command(c *core.Command) string {
	text := fmt.Sprintf("%v job %d epoch %d", c.Kind, c.Job, c.Epoch)
	if c.Part > 0 {
		text += fmt.Sprintf(" part %d", c.Part)
	}
	switch c.Kind {
	case core.Stage:
		text += " on " + s.cluster(c.Cluster)
	case core.Claim, core.Start:
		text += fmt.Sprintf(": %d", c.N)
		if len(c.Procs) > 0 {
			text += fmt.Sprintf(" on %s (%v)", s.cluster(c.Cluster), c.Procs)
		}
	case core.Offer:
		text += fmt.Sprintf(" serial %d: %+d on %s (%v)%s", c.Serial, c.N, s.cluster(c.Cluster), c.Procs, must(c.Mandatory))
	}
	return text
}

// show writes the state of the grid.
func (s *stage) show() string {
	var b strings.Builder
	w := s.eng.World()
	for _, c := range w.Clusters() {
		fmt.Fprintf(&b, "  %s: %d idle\n", c.Name(), c.IdleProcs())
	}
	for id := core.JobID(1); id < 100; id++ {
		if j := w.Job(id); j != nil {
			fmt.Fprintf(&b, "  job %d %v%s\n", id, j.State(), parts(j))
		}
	}
	if w.QueueLength() > 0 {
		fmt.Fprintf(&b, "  %d wait, job %d first\n", w.QueueLength(), w.QueueHead().Spec().ID)
	}
	return b.String()
}

func parts(j *world.Job) string {
	text := ""
	for _, p := range j.Parts() {
		text += fmt.Sprintf(", %d on %s", p.Size(), p.Cluster().Name())
		if len(p.Procs()) > 0 {
			text += fmt.Sprintf(" (%v)", p.Procs())
		}
	}
	return text
}
