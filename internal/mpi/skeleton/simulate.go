package skeleton

import (
	"fmt"
	"slices"

	"github.com/godwit-hpc/godwit/internal/mpi/capture"
)

// mostSteps bounds how much is looked at: longer programs are trusted after that.
const mostSteps = 2_000_000

// simulatePrograms does the programs of all ranks in thought, with messages that arrive at
// once, and says who would wait for ever, or which message nobody would receive.
func simulatePrograms(groups [][]int, programs [][]capture.Node) error {
	s := &simulation{groups: groups, ranks: make([]*rankState, len(programs)), joint: map[int][]int64{},
		told: map[joint]string{}}
	for r, nodes := range programs {
		s.ranks[r] = &rankState{stack: []frame{{nodes: nodes, rounds: 1}}, slots: map[int]waitable{}}
	}
	for moved := true; moved; {
		moved = false
		for r := range s.ranks {
			for s.stepRank(r) {
				moved = true
				if s.steps++; s.steps > mostSteps {
					return nil
				}
			}
			if s.err != nil {
				return s.err
			}
		}
	}
	return s.describeDeadlock()
}

type simulation struct {
	groups [][]int
	ranks  []*rankState
	joint  map[int][]int64  // collective operations so far, by group and member
	told   map[joint]string // what they were
	steps  int
	err    error
}

type joint struct {
	group  int
	number int64
}

// rankState is how far a rank has come.
type rankState struct {
	stack   []frame
	posted  []*receive // not matched yet, in order
	arrived []message  // received by nobody yet, in order
	slots   map[int]waitable
	pending *receive // of a blocking call that waits
	sent    bool     // the message of that call
}

type frame struct {
	nodes  []capture.Node
	at     int
	rounds int64
}

type message struct{ from, tag, group int }

type receive struct {
	message
	done bool
}

// waitable is what a slot stands for: a receive, or a collective operation.
type waitable struct {
	receive *receive
	joint   *joint
}

func (m message) suitsReceive(r *receive) bool {
	return m.group == r.group && (r.from == capture.Anybody || r.from == m.from) &&
		(r.tag == capture.Anybody || r.tag == m.tag)
}

// nextCall is the call that a rank makes now, or nil at its end.
func (p *rankState) nextCall() *capture.Node {
	for len(p.stack) > 0 {
		f := &p.stack[len(p.stack)-1]
		if f.at == len(f.nodes) {
			if f.rounds--; f.rounds > 0 {
				f.at = 0
				continue
			}
			p.stack = p.stack[:len(p.stack)-1]
			if len(p.stack) > 0 {
				p.stack[len(p.stack)-1].at++
			}
			continue
		}
		n := &f.nodes[f.at]
		if !n.IsLoop() {
			return n
		}
		p.stack = append(p.stack, frame{nodes: n.Body, rounds: n.Rounds})
	}
	return nil
}

// stepRank lets a rank make its next call, if that does not wait.
func (s *simulation) stepRank(r int) bool {
	p := s.ranks[r]
	n := p.nextCall()
	if n == nil || s.err != nil || !s.makeCall(r, p, n) {
		return false
	}
	p.stack[len(p.stack)-1].at++
	p.sent, p.pending = false, nil
	return true
}

func (s *simulation) makeCall(r int, p *rankState, n *capture.Node) bool {
	switch {
	case capture.IsCollective(n.Call):
		return s.joinCollective(r, p, n)
	case n.Call == "wait":
		return !slices.ContainsFunc(n.List, func(slot int64) bool { return !s.isOver(p.slots[int(slot)]) })
	case n.Call == "free":
		delete(p.slots, n.Slot)
		return true
	}
	if capture.SendsMessage(n.Call) && !p.sent {
		p.sent = true
		if n.Slot >= 0 {
			p.slots[n.Slot] = waitable{}
		}
		if n.Peer >= 0 {
			s.deliverMessage(n.Peer, message{r, n.Tag, n.Group})
		}
	}
	from, tag := n.Peer, n.Tag
	if n.Call == "sendrecv" {
		from, tag = n.From, n.FromTag
	} else if capture.SendsMessage(n.Call) {
		return true
	}
	if from == capture.Nobody {
		return true
	}
	if p.pending == nil {
		p.pending = p.postReceive(message{from, tag, n.Group})
	}
	if n.Call == "irecv" {
		p.slots[n.Slot] = waitable{receive: p.pending}
		return true
	}
	return p.pending.done
}

func (s *simulation) isOver(w waitable) bool {
	if w.joint != nil && !s.haveAllJoined(*w.joint) {
		return false
	}
	return w.receive == nil || w.receive.done
}

func (s *simulation) deliverMessage(to int, m message) {
	p := s.ranks[to]
	for i, r := range p.posted {
		if m.suitsReceive(r) {
			r.done = true
			p.posted = slices.Delete(p.posted, i, i+1)
			return
		}
	}
	p.arrived = append(p.arrived, m)
}

func (p *rankState) postReceive(m message) *receive {
	r := &receive{message: m}
	for i, a := range p.arrived {
		if a.suitsReceive(r) {
			r.done = true
			p.arrived = slices.Delete(p.arrived, i, i+1)
			return r
		}
	}
	p.posted = append(p.posted, r)
	return r
}

// joinCollective lets a rank join a collective operation, which ends when all have.
func (s *simulation) joinCollective(r int, p *rankState, n *capture.Node) bool {
	members := s.groups[n.Group]
	me := slices.Index(members, r)
	if me < 0 {
		s.err = fmt.Errorf("rank %d makes a %s of others", r, n.Call)
		return false
	}
	if s.joint[n.Group] == nil {
		s.joint[n.Group] = make([]int64, len(members))
	}
	done := s.joint[n.Group]
	if !p.sent {
		p.sent = true
		done[me]++
		j := joint{n.Group, done[me]}
		if what, known := s.told[j]; known && what != n.Call {
			s.err = fmt.Errorf("rank %d makes a %s where others make a %s", r, n.Call, what)
			return false
		}
		s.told[j] = n.Call
	}
	j := joint{n.Group, done[me]}
	if n.Slot >= 0 {
		p.slots[n.Slot] = waitable{joint: &j}
		return true
	}
	if !s.haveAllJoined(j) {
		return false
	}
	return true
}

func (s *simulation) haveAllJoined(j joint) bool { return slices.Min(s.joint[j.group]) >= j.number }

// describeDeadlock says what is wrong when nobody can go on.
func (s *simulation) describeDeadlock() error {
	for r, p := range s.ranks {
		if n := p.nextCall(); n != nil {
			return fmt.Errorf("rank %d would wait for ever in a %s (peer %d, from %d)", r, n.Call, n.Peer, n.From)
		}
	}
	for r, p := range s.ranks {
		if len(p.arrived) > 0 {
			return fmt.Errorf("nobody would receive a message from rank %d to rank %d", p.arrived[0].from, r)
		}
	}
	return nil
}
