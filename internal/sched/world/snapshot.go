package world

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// SnapshotVersion is the form of snapshots. It grows when old ones cannot be
// read any more; a field that is merely new needs no new version, old
// snapshots have it zero.
const SnapshotVersion = 1

// What makes a snapshot useless here. Whoever meets one of these replays the
// events instead.
var (
	ErrOtherVersion  = errors.New("the snapshot was made by another version")
	ErrOtherClusters = errors.New("the snapshot is of other clusters")
	ErrBadSnapshot   = errors.New("the snapshot is damaged")
)

// snapshotMagic stands at the beginning; version and checksum of the rest
// follow.
const snapshotMagic = "godwit-world"

const snapshotHead = len(snapshotMagic) + 4 + 4

// The types ending in Shot are what a snapshot holds of the types of the same
// name. What can be counted or listed again from the rest is left out.
type worldShot struct {
	Names        []string // of enumerations: numbers mean the same only while names do
	Last         core.Time
	Scans        int64
	Scanned      core.Time
	Starts       int64
	Clusters     []clusterShot
	Replicas     [][]core.ClusterID // by file
	Apps         []appShot
	Jobs         []jobShot    // by number
	Queue        []core.JobID // from its head
	Timers       []Timer      // in the order in which they fall due
	Targets      []targetShot // what held jobs depend on
	Rescheduling reschedulingShot
	Accuracy     []core.Accuracy // how predictions held, by cluster
}

// reschedulingShot is the rescheduler's.
type reschedulingShot struct {
	Queue     []core.JobID
	Assessing core.JobID
	Moving    core.JobID
}

type heldShot struct {
	At    core.Aim
	Size  int
	Procs core.ProcSet
}

type foretoldShot struct {
	At      core.Time
	Seconds float64
	Cluster core.ClusterID
}

type targetShot struct {
	Key    targetKey
	Target core.Target
}

type clusterShot struct {
	Name    string
	Hosts   []int // processors of each
	Managed bool
	Spec    core.ClusterSpec // in full; without a name in those of earlier versions

	Rating     float64
	Share      float64
	Net        []float64 // between its hosts; nil: nothing is known
	Free       []float64 // of a processor on each of them; nil: all of it
	Wait       int
	Turns      int
	Turned     core.Time
	Others     []uint64
	Down       []uint64
	Drains     []core.Drain
	Apart      []ApartCluster
	ReclaimFor core.JobID
}

type appShot struct {
	Name    string
	Scaling scalingShot
}

type scalingShot struct {
	Misfit []float64 // nil: as at first
	Best   int
	Seen   int
	Unit   float64
	Jobs   int
	Pause  float64
	Pauses int
	Flat   int
	Picky  bool
	Sizes  []int
}

type jobShot struct {
	Spec        *core.Job // never changed: a job that is described anew gets another
	State       core.State
	Since       core.Time
	Submitted   core.Time
	Started     core.Time
	Epoch       core.Epoch
	Attempts    int
	Losses      int
	QuickLosses int
	Aim         core.Aim
	Pin         core.Aim
	Fixed       int
	Barred      []core.ClusterID
	Due         core.Time
	FirstScan   int64
	Tries       int
	NotBefore   core.Time
	LostAt      core.Aim
	LostTurn    int
	RoomAfter   core.Time
	Pace        paceShot
	Parts       []partShot
	Scaling     *scalingShot // of a job that names no program
	Hold        core.Hold
	HoldWhy     core.Reason
	HoldUntil   core.Time
	WasHeld     bool
	UserHold    bool
	Suspended   bool
	Held        heldShot
	Foretold    foretoldShot
}

type paceShot struct {
	At    core.Time
	Done  float64
	From  core.Time
	Start float64
	Size  int
	Rate  float64
	Blind bool
}

type partShot struct {
	Cluster    core.ClusterID
	Index      int
	Component  int
	Size       int
	Min, Max   int
	Procs      core.ProcSet
	Ranks      []int
	ClaimAt    core.Time
	Held       bool
	Staged     bool
	Claimed    bool
	Extensible bool
	Order      int64
	Offer      offerShot
	Serial     int
	Returned   int
	Asked      int
	Refused    int
}

type offerShot struct {
	N         int
	Procs     core.ProcSet
	Mandatory bool
	Due       core.Time
	Silent    bool
	Accepted  int
}

// EncodeSnapshot is the whole state in a form that RestoreSnapshot reads.
func (w *World) EncodeSnapshot() ([]byte, error) { return w.newCopying().FinishCopy().EncodeSnapshot() }

// EncodeSnapshot is the state in a form that RestoreSnapshot reads.
func (c StateCopy) EncodeSnapshot() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(snapshotMagic)
	b.Write(make([]byte, snapshotHead-b.Len())) // filled in below
	if err := gob.NewEncoder(&b).Encode(c.arrangeShot()); err != nil {
		return nil, fmt.Errorf("taking a snapshot of the world: %w", err)
	}
	text := b.Bytes()
	binary.BigEndian.PutUint32(text[len(snapshotMagic):], SnapshotVersion)
	binary.BigEndian.PutUint32(text[len(snapshotMagic)+4:], crc32.ChecksumIEEE(text[snapshotHead:]))
	return text, nil
}

// takeShot leaves out the jobs, and sorts nothing that may be as many as these.
func (w *World) takeShot() *worldShot {
	s := &worldShot{Names: enumNames(), Last: w.last, Scans: w.scans, Scanned: w.scanned, Starts: w.starts}
	for _, c := range w.clusters {
		s.Clusters = append(s.Clusters, c.takeShot())
	}
	for _, at := range w.replicas {
		var list []core.ClusterID
		for c := range core.ClusterID(len(w.clusters)) {
			if at[c] {
				list = append(list, c)
			}
		}
		s.Replicas = append(s.Replicas, list)
	}
	for _, name := range sortedKeys(w.apps) {
		s.Apps = append(s.Apps, appShot{name, w.apps[name].takeShot(newScaling())})
	}
	for _, j := range w.queue.jobs { // in the order of the queue
		if j != nil {
			s.Queue = append(s.Queue, j.spec.ID)
		}
	}
	s.Timers = w.timers.all()
	s.Rescheduling = reschedulingShot{Queue: slices.Clone(w.rescheduling.queue), Assessing: w.rescheduling.assessing,
		Moving: w.rescheduling.moving}
	s.Accuracy = slices.Clone(w.accuracy)
	for key, t := range w.targets { // order-free: sorted before it is encoded
		s.Targets = append(s.Targets, targetShot{key, t.Target})
	}
	return s
}

// compareDue orders timers as they fall due.
func (t Timer) compareDue(u Timer) int {
	if t.At != u.At {
		return signOf(t.At < u.At)
	}
	return signOf(t.seq < u.seq)
}

func signOf(before bool) int {
	if before {
		return -1
	}
	return 1
}

func (c *Cluster) takeShot() clusterShot {
	s := clusterShot{Name: c.spec.Name, Managed: c.spec.Managed, Spec: c.spec, Rating: c.rating, Share: c.share,
		Wait: c.wait, Turns: c.turns, Turned: c.turned,
		Others: slices.Clone(c.others), Down: slices.Clone(c.down), Drains: slices.Clone(c.drains),
		Apart: slices.Clone(c.apart), ReclaimFor: c.reclaimFor}
	for _, h := range c.spec.Hosts {
		s.Hosts = append(s.Hosts, h.Procs)
	}
	if c.net != nil {
		s.Net, s.Free = c.net.Mbps, c.net.Free
	}
	return s
}

// takeShot leaves out what is as in a fresh one: most jobs have taught nothing yet.
func (s *Scaling) takeShot(fresh *Scaling) scalingShot {
	shot := scalingShot{Best: s.best, Seen: s.seen, Unit: s.unit, Jobs: s.jobs, Pause: s.pause, Pauses: s.pauses,
		Flat: s.flat, Picky: s.picky, Sizes: slices.Clone(s.sizes)}
	if s.misfit != fresh.misfit {
		shot.Misfit = slices.Clone(s.misfit[:])
	}
	return shot
}

func (j *Job) takeShot(fresh *Scaling) jobShot {
	s := jobShot{Spec: j.spec, State: j.state, Since: j.since, Submitted: j.submitted, Started: j.started, Epoch: j.epoch,
		Attempts: j.attempts, Losses: j.losses, QuickLosses: j.quickLosses, Aim: j.aim, Pin: j.pin, Fixed: j.fixed,
		Barred: slices.Clone(j.barred),
		Due:    j.due, FirstScan: j.firstScan, Tries: j.tries,
		NotBefore: j.notBefore, LostAt: j.lostAt, LostTurn: j.lostTurn, RoomAfter: j.roomAfter,
		Hold: j.hold, HoldWhy: j.holdWhy, HoldUntil: j.holdUntil,
		WasHeld: j.wasHeld, UserHold: j.userHold, Suspended: j.suspended,
		Held:     heldShot{At: j.held.at, Size: j.held.size, Procs: slices.Clone(j.held.procs)},
		Foretold: foretoldShot{At: j.foretold.at, Seconds: j.foretold.seconds, Cluster: j.foretold.cluster},
		Pace: paceShot{At: j.pace.at, Done: j.pace.done, From: j.pace.from, Start: j.pace.start, Size: j.pace.size,
			Rate: j.pace.rate, Blind: j.pace.blind}}
	for _, p := range j.parts {
		s.Parts = append(s.Parts, p.takeShot())
	}
	if j.spec.App == "" && j.scaling != nil {
		own := j.scaling.takeShot(fresh)
		s.Scaling = &own
	}
	return s
}

func (p *Part) takeShot() partShot {
	return partShot{Cluster: p.cluster.id, Index: p.index, Component: p.component, Size: p.size, Min: p.min, Max: p.max,
		Procs: slices.Clone(p.procs), Ranks: p.ranks, ClaimAt: p.claimAt, Held: p.held, Staged: p.staged,
		Claimed: p.claimed, Extensible: p.extensible, Order: p.order,
		Offer: offerShot{N: p.offer.n, Procs: slices.Clone(p.offer.procs), Mandatory: p.offer.mandatory, Due: p.offer.due,
			Silent: p.offer.silent, Accepted: p.offer.accepted},
		Serial: p.serial, Returned: p.returned, Asked: p.asked, Refused: p.refused}
}

// enumNames lists the names of the enumerations that are kept by number.
func enumNames() []string {
	var states, kinds, places []string
	for i := range uint8(64) {
		states = append(states, core.State(i).String())
		kinds = append(kinds, core.Kind(i).String())
		places = append(places, core.PlacePolicy(i).String())
	}
	list := func(names []string) string {
		return strings.Join(slices.DeleteFunc(names, func(n string) bool { return n == "unknown" }), " ")
	}
	return []string{list(states), list(kinds), list(places)}
}
