package world

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// RestoreSnapshot is the world of which the snapshot was taken, on the grid as spec
// describes it now. Clusters may have been added at the end of the list; one
// that has other hosts now, or a queue of its own where it had none, begins
// empty if no job of ours was there. Anything else is another grid.
func RestoreSnapshot(spec Spec, snapshot []byte) (*World, error) {
	s, err := readShot(snapshot)
	if err != nil {
		return nil, err
	}
	w := New(spec)
	r := restorer{World: w, shot: s}
	for _, step := range []func() error{r.fillClusters, r.fillPrograms, r.fillJobs, r.fillHolds, r.fillQueue,
		r.fillTimers, r.fillRescheduling} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	w.last, w.scans, w.scanned, w.starts = s.Last, s.Scans, s.Scanned, s.Starts
	if err := w.CheckInvariants(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadSnapshot, err)
	}
	return w, nil
}

// SnapshotClusters is what the clusters of a snapshot consist of. Those of earlier
// versions tell no more than how many processors each host has.
func SnapshotClusters(snapshot []byte) ([]ClusterSpec, error) {
	s, err := readShot(snapshot)
	if err != nil {
		return nil, err
	}
	var list []ClusterSpec
	for i := range s.Clusters {
		c := &s.Clusters[i]
		spec := c.Spec
		if spec.Name == "" {
			spec = ClusterSpec{Name: c.Name, Managed: c.Managed}
			for _, n := range c.Hosts {
				spec.Hosts = append(spec.Hosts, HostSpec{Procs: n, Speed: 1})
			}
		}
		if !spec.IsValid() {
			return nil, badSnapshot("cluster %s cannot be", spec.Name)
		}
		list = append(list, spec)
	}
	return list, nil
}

func readShot(snapshot []byte) (*worldShot, error) {
	head := min(len(snapshot), snapshotHead)
	if head < snapshotHead || string(snapshot[:len(snapshotMagic)]) != snapshotMagic {
		return nil, fmt.Errorf("%w: it does not begin like one", ErrBadSnapshot)
	}
	if v := binary.BigEndian.Uint32(snapshot[len(snapshotMagic):]); v != SnapshotVersion {
		return nil, fmt.Errorf("%w: its form is %d, this one knows %d", ErrOtherVersion, v, SnapshotVersion)
	}
	body := snapshot[snapshotHead:]
	if binary.BigEndian.Uint32(snapshot[len(snapshotMagic)+4:]) != crc32.ChecksumIEEE(body) {
		return nil, fmt.Errorf("%w: its checksum is wrong", ErrBadSnapshot)
	}
	s := &worldShot{}
	if err := gob.NewDecoder(bytes.NewReader(body)).Decode(s); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadSnapshot, err)
	}
	names := enumNames()
	if len(s.Names) != len(names) {
		return nil, ErrOtherVersion
	}
	for i := range names {
		if !strings.HasPrefix(names[i]+" ", s.Names[i]+" ") { // new ones at the end change nothing
			return nil, fmt.Errorf("%w: it knows %s, this one %s", ErrOtherVersion, s.Names[i], names[i])
		}
	}
	return s, nil
}

// restorer fills a new world.
type restorer struct {
	*World
	shot *worldShot
}

func badSnapshot(what string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrBadSnapshot, fmt.Sprintf(what, args...))
}

func (r *restorer) fillClusters() error {
	if len(r.shot.Clusters) > len(r.clusters) {
		return fmt.Errorf("%w: it has %d, there are %d now", ErrOtherClusters, len(r.shot.Clusters), len(r.clusters))
	}
	for i := range r.shot.Clusters {
		s, c := &r.shot.Clusters[i], r.clusters[i]
		now := c.takeShot()
		if s.Name != now.Name {
			return fmt.Errorf("%w: number %d was %s and is %s now", ErrOtherClusters, i, s.Name, now.Name)
		}
		c.setDrains(s.Drains)
		c.apart = s.Apart
		if !slices.Equal(s.Hosts, now.Hosts) || s.Managed != now.Managed {
			if r.inUse(c.id) {
				return fmt.Errorf("%w: %s has other hosts now, and jobs of ours on them", ErrOtherClusters, s.Name)
			}
			continue
		}
		if len(s.Others) != len(c.others) || len(s.Down) != len(c.down) {
			return badSnapshot("cluster %s has sets of another size", s.Name)
		}
		c.rating, c.share, c.wait, c.reclaimFor = s.Rating, s.Share, s.Wait, s.ReclaimFor
		c.turns, c.turned = s.Turns, s.Turned
		if net := (&core.Network{Mbps: s.Net, Free: s.Free}); s.Net != nil && net.CoversHosts(len(s.Hosts)) {
			c.net = net
		}
		copy(c.others, s.Others)
		copy(c.down, s.Down)
	}
	for f := range min(len(r.replicas), len(r.shot.Replicas)) {
		for _, at := range r.shot.Replicas[f] {
			if at < 0 || int(at) >= len(r.clusters) {
				return badSnapshot("file %d is in cluster %d", f, at)
			}
			r.replicas[f][at] = true
		}
	}
	return nil
}

// inUse reports whether a job of the snapshot has a part in the cluster.
func (r *restorer) inUse(c core.ClusterID) bool {
	return slices.ContainsFunc(r.shot.Jobs, func(j jobShot) bool {
		return slices.ContainsFunc(j.Parts, func(p partShot) bool { return p.Cluster == c })
	})
}

func (r *restorer) fillPrograms() error {
	for i := range r.shot.Apps {
		s, err := r.shot.Apps[i].Scaling.toScaling()
		if err != nil {
			return err
		}
		r.apps[r.shot.Apps[i].Name] = s
	}
	return nil
}

// maxProgramProcs is more than a program ever ran on.
const maxProgramProcs = 1 << 24

func (s *scalingShot) toScaling() (*Scaling, error) {
	full := newScaling()
	if len(s.Misfit) != 0 && len(s.Misfit) != len(full.misfit) || s.Best < 0 || s.Best >= len(full.misfit) {
		return nil, fmt.Errorf("%w: it knows other speed-up curves", ErrOtherVersion)
	}
	copy(full.misfit[:], s.Misfit)
	full.best, full.seen, full.unit, full.jobs, full.pause, full.pauses = s.Best, s.Seen, s.Unit, s.Jobs, s.Pause, s.Pauses
	full.flat, full.picky, full.sizes = s.Flat, s.Picky, s.Sizes
	if !slices.IsSorted(s.Sizes) {
		return nil, badSnapshot("sizes %v are not in order", s.Sizes)
	}
	return full, nil
}

func (r *restorer) fillJobs() error {
	var running []*Part
	for i := range r.shot.Jobs {
		s := &r.shot.Jobs[i]
		if err := r.checkJob(s); err != nil {
			return err
		}
		j := s.toJob()
		if err := r.restoreScaling(j, s); err != nil {
			return err
		}
		for k := range s.Parts {
			p := j.addPart(s.Parts[k].toPart(r.clusters))
			if err := p.recountHeld(); err != nil {
				return err
			}
			if p.heedsPolicy() {
				running = append(running, p)
			}
		}
		if err := r.restoreHeld(j); err != nil {
			return err
		}
		if j.state == core.Running && j.HasContract() {
			r.rescheduling.contracted = append(r.rescheduling.contracted, j.spec.ID)
		}
		r.addJob(s.Spec.ID, j)
	}
	for _, c := range r.clusters {
		c.recountFree()
	}
	slices.SortFunc(running, func(p, q *Part) int { return signOf(p.order < q.order) })
	for _, p := range running {
		p.cluster.enlistPart(p)
	}
	return nil
}

// restoreHeld counts what is held for a job elsewhere in its cluster again.
func (r *restorer) restoreHeld(j *Job) error {
	at, held := j.held.at.Cluster()
	if !held {
		return nil
	}
	if int(at) >= len(r.clusters) || !j.held.procs.IsValid(r.clusters[at].procs) {
		return badSnapshot("what is held for job %d is not there", j.spec.ID)
	}
	if _, some := r.clusters[at].held.containsAny(j.held.procs); some {
		return badSnapshot("processors %v, held for job %d, are held twice", j.held.procs, j.spec.ID)
	}
	r.clusters[at].held.addAll(j.held.procs)
	return nil
}

func (r *restorer) fillRescheduling() error {
	s := &r.shot.Rescheduling
	if len(r.shot.Accuracy) > len(r.clusters) {
		return badSnapshot("predictions for %d clusters", len(r.shot.Accuracy))
	}
	for _, id := range append(slices.Clone(s.Queue), s.Assessing, s.Moving) {
		if id != 0 && r.jobs[id] == nil {
			return badSnapshot("the rescheduler looks at job %d, which is not there", id)
		}
	}
	r.rescheduling.queue, r.rescheduling.assessing, r.rescheduling.moving = s.Queue, s.Assessing, s.Moving
	r.accuracy = r.shot.Accuracy
	return nil
}

// checkJob checks what would break the rebuilding; the rest is CheckInvariants's.
func (r *restorer) checkJob(s *jobShot) error {
	_, state := s.State.MarshalText()
	switch {
	case s.Spec == nil, s.Spec.CheckSpec() != nil, r.jobs[s.Spec.ID] != nil, state != nil, s.State.IsTerminal(),
		s.State == core.Unknown:
		return badSnapshot("job %d of %d cannot be, or is there twice", len(r.jobs), len(r.shot.Jobs))
	case s.Pace.Size < 0, s.Pace.Size > maxProgramProcs:
		return badSnapshot("job %d ran on %d processors", s.Spec.ID, s.Pace.Size)
	}
	for i := range s.Parts {
		p := &s.Parts[i]
		switch {
		case p.Index != i, p.Component < 0, p.Component >= len(s.Spec.Components), p.Cluster < 0,
			int(p.Cluster) >= len(r.clusters),
			p.Size < 1, p.Size > r.clusters[p.Cluster].procs, p.Offer.N < -maxProgramProcs, p.Offer.N > maxProgramProcs:
			return badSnapshot("part %d of job %d cannot be", i, s.Spec.ID)
		case !p.Procs.IsValid(r.clusters[p.Cluster].procs), !p.Offer.Procs.IsValid(r.clusters[p.Cluster].procs):
			return badSnapshot("part %d of job %d holds processors that are not there", i, s.Spec.ID)
		}
	}
	return nil
}

func (s *jobShot) toJob() *Job {
	return &Job{spec: s.Spec, state: s.State, since: s.Since, submitted: s.Submitted, started: s.Started, epoch: s.Epoch,
		attempts: s.Attempts, losses: s.Losses, quickLosses: s.QuickLosses, aim: s.Aim, pin: s.Pin,
		fixed: s.Fixed, barred: s.Barred,
		due: s.Due, firstScan: s.FirstScan, tries: s.Tries,
		notBefore: s.NotBefore, lostAt: s.LostAt, lostTurn: s.LostTurn, roomAfter: s.RoomAfter,
		hold: s.Hold, holdWhy: s.HoldWhy, holdUntil: s.HoldUntil,
		wasHeld: s.WasHeld, userHold: s.UserHold, suspended: s.Suspended,
		held:     heldTarget{at: s.Held.At, size: s.Held.Size, procs: s.Held.Procs},
		foretold: foretold{at: s.Foretold.At, seconds: s.Foretold.Seconds, cluster: s.Foretold.Cluster},
		pace: pace{at: s.Pace.At, done: s.Pace.Done, from: s.Pace.From, start: s.Pace.Start, size: s.Pace.Size,
			rate: s.Pace.Rate, blind: s.Pace.Blind}}
}

// restoreScaling gives the job what is known of its program.
func (r *restorer) restoreScaling(j *Job, s *jobShot) (err error) {
	if j.scaling = r.scalingOf(j.spec); s.Scaling != nil && j.scaling != nil && j.spec.App == "" {
		j.scaling, err = s.Scaling.toScaling()
	}
	return err
}

func (s *partShot) toPart(clusters []*Cluster) Part {
	return Part{cluster: clusters[s.Cluster], index: s.Index, component: s.Component, size: s.Size, min: s.Min, max: s.Max,
		procs: s.Procs, ranks: s.Ranks, claimAt: s.ClaimAt, held: s.Held, staged: s.Staged, claimed: s.Claimed,
		extensible: s.Extensible,
		order:      s.Order,
		offer: offer{n: s.Offer.N, procs: s.Offer.Procs, mandatory: s.Offer.Mandatory, due: s.Offer.Due,
			silent: s.Offer.Silent, accepted: s.Offer.Accepted},
		serial: s.Serial, returned: s.Returned, asked: s.Asked, refused: s.Refused}
}

// recountHeld counts the part in its cluster again. Its processors may have failed
// meanwhile: they are its own all the same.
func (p *Part) recountHeld() error {
	c := p.cluster
	sets := []core.ProcSet{p.procs}
	if p.offer.n > 0 {
		sets = append(sets, p.offer.procs)
	}
	for _, s := range sets {
		if _, some := c.held.containsAny(s); some {
			return badSnapshot("processors %v of %s are held twice", s, c.spec.Name)
		}
		c.held.addAll(s)
	}
	runs := p.job.state == core.Running || p.job.state == core.Stopping
	switch {
	case c.spec.Managed && runs:
		c.running += p.size
	case c.spec.Managed:
		c.setQueued(p, true)
	}
	if p.job.state == core.Stopping {
		c.leaving++
	}
	if p.offer.n != 0 && !p.offer.silent {
		c.offers++
	}
	return nil
}

// fillHolds enters jobs among those that are held by the same.
func (r *restorer) fillHolds() error {
	for _, id := range sortedKeys(r.jobs) {
		switch j := r.jobs[id]; {
		case j.hold != core.NotHeld && (!j.mayBeHeld(j.hold) || len(j.parts) > 0):
			return badSnapshot("job %d is held by %d while it is %s", id, j.hold, j.state)
		default:
			r.beginHold(j, j.hold)
		}
	}
	for _, s := range r.shot.Targets {
		t := r.targets[s.Key]
		if t == nil {
			return badSnapshot("nobody depends on job %d", s.Key.Job)
		}
		t.Target = s.Target
	}
	return nil
}

func (r *restorer) fillQueue() error {
	for _, id := range r.shot.Queue {
		j := r.jobs[id]
		if j == nil || j.queued || !j.state.IsWaiting() || j.hold != core.NotHeld {
			return badSnapshot("job %d is in the queue", id)
		}
		expire := int64(unlimited)
		if limit := r.MaxTries(j); limit > 0 {
			expire = j.firstScan + int64(limit-j.tries)
		}
		r.queue.pushJob(j, r.queueKey(j.spec, expire))
		if j.notBefore > 0 {
			r.putOff++
			r.retries.addTimer(Timer{At: j.notBefore, Job: id})
		}
	}
	return nil
}

func (r *restorer) fillTimers() error {
	for _, t := range r.shot.Timers {
		r.timers.addTimer(t)
	}
	return nil
}
