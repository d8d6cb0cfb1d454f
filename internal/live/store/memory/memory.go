// Package memory is a store that forgets everything when the process ends: for
// tests of those who need one, and the plain twin against which real stores are
// checked. It keeps records as they would be written to a file, so that what
// cannot be written fails here too. It must not know who uses it.
package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Disk is what a Store is kept on: it outlives a store that is closed, or one
// that is dropped as by a crash.
type Disk struct {
	mu        sync.Mutex
	inUse     *Store
	first     uint64 // number of events[0]
	events    []core.Event
	steps     []store.LogRow
	snapshots []store.Snapshot // newest first
	outbox    []store.Outbound
	nextSend  uint64
	nextJob   core.JobID
	jobs      map[core.JobID]store.Job
	arrays    map[core.JobID]store.Array
	entries   map[core.JobID][]wire.Entry
	saved     map[store.CheckpointID]wire.Saved
	runs      map[attempt]history.Run
	transfers []history.Transfer
	quotes    map[quoteID]history.Quote
	settings  map[string]string
	weather   map[readingID]float64
	outlooks  map[outlookID]store.Outlook

	flows       map[int64]store.Flow
	flowTasks   map[flowTaskID]store.FlowTask
	flowEntries map[int64][]store.FlowEntry

	pools      map[int64]store.Pool
	poolChunks map[poolChunkID]store.PoolChunk
}

type attempt struct {
	job   core.JobID
	epoch core.Epoch
}

type quoteID struct {
	job           core.JobID
	at            core.Time
	cluster, kind string
}

// NewDisk is an empty disk.
func NewDisk() *Disk {
	return &Disk{first: 1, nextSend: 1, nextJob: 1, jobs: map[core.JobID]store.Job{}, arrays: map[core.JobID]store.Array{},
		entries: map[core.JobID][]wire.Entry{},
		saved:   map[store.CheckpointID]wire.Saved{}, runs: map[attempt]history.Run{},
		quotes: map[quoteID]history.Quote{}, settings: map[string]string{}, weather: map[readingID]float64{},
		outlooks: map[outlookID]store.Outlook{},
		flows:    map[int64]store.Flow{}, flowTasks: map[flowTaskID]store.FlowTask{},
		flowEntries: map[int64][]store.FlowEntry{},
		pools:       map[int64]store.Pool{}, poolChunks: map[poolChunkID]store.PoolChunk{}}
}

// Store is a store in memory.
type Store struct{ d *Disk }

var _ store.Store = (*Store)(nil)

// New is a store on a disk of its own.
func New() *Store {
	s, _ := Open(NewDisk())
	return s
}

// Open is a store on a disk; ErrLocked while another one is open on it.
func Open(d *Disk) (*Store, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inUse != nil {
		return nil, store.ErrLocked
	}
	d.inUse = &Store{d}
	return d.inUse, nil
}

// CrashStore drops the store without closing it.
func (d *Disk) CrashStore() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inUse = nil
}

// Close lets another store be opened on the disk.
func (s *Store) Close() error {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if s.d.inUse == s {
		s.d.inUse = nil
	}
	return nil
}

// lockDisk locks the disk for one call, unless the store is not the one that is
// open.
func (s *Store) lockDisk(ctx context.Context) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.d.mu.Lock()
	if s.d.inUse != s {
		s.d.mu.Unlock()
		return nil, store.ErrClosed
	}
	return s.d.mu.Unlock, nil
}

// roundTrip is v as it comes back from a file.
func roundTrip[T any](v T) (T, error) {
	var back T
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if err != nil {
		return back, fmt.Errorf("%T cannot be stored: %w", v, err)
	}
	return back, nil
}

// CommitBatch implements store.Store.
func (s *Store) CommitBatch(ctx context.Context, b *store.Batch) error {
	leave, err := s.lockDisk(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := b.CheckNumbers(s.d.nextEvent(), s.d.nextSend); err != nil {
		return err
	}
	fresh, err := roundTrip(*b)
	if err != nil {
		return err
	}
	jobs, err := s.d.mergedJobs(b.Jobs)
	if err != nil {
		return err
	}
	for i := range fresh.Arrays { // a number is no part of the body
		fresh.Arrays[i].ID = b.Arrays[i].ID
	}
	for i := range fresh.FlowTasks { // likewise
		fresh.FlowTasks[i].Flow, fresh.FlowTasks[i].N = b.FlowTasks[i].Flow, b.FlowTasks[i].N
	}
	for i := range fresh.FlowEntries { // likewise
		fresh.FlowEntries[i].Flow = b.FlowEntries[i].Flow
	}
	for i := range fresh.PoolChunks { // likewise
		fresh.PoolChunks[i].Pool, fresh.PoolChunks[i].N = b.PoolChunks[i].Pool, b.PoolChunks[i].N
	}
	flows, err := s.d.mergedFlows(b.Flows)
	if err != nil {
		return err
	}
	pools, err := s.d.mergedPools(b.Pools)
	if err != nil {
		return err
	}
	for _, o := range b.Outlooks { // whose job is no part of the body
		s.d.outlooks[outlookID{o.Job, o.At}] = o
	}
	s.d.putBatch(&fresh, jobs)
	s.d.putPools(&fresh, pools)
	s.d.putFlows(&fresh, flows)
	return nil
}

// mergedJobs is the jobs of a batch as they will be kept.
func (d *Disk) mergedJobs(jobs []store.Job) ([]store.Job, error) {
	owner, named := map[string]core.JobID{}, map[core.JobID]string{}
	for id, j := range d.jobs {
		owner[j.Unique], named[id] = id, j.Unique
	}
	earlier := map[core.JobID]store.Job{} // in the batch
	kept := make([]store.Job, 0, len(jobs))
	for i := range jobs {
		j, err := roundTrip(jobs[i])
		if err != nil {
			return nil, err
		}
		in := &jobs[i]
		fixed := *in // where what never changes is taken from
		if in.Spec == nil {
			var there bool
			if fixed, there = earlier[in.ID]; !there {
				fixed, there = d.jobs[in.ID]
			}
			if !there {
				return nil, fmt.Errorf("job %d is new and has no description", in.ID)
			}
		}
		j.ID, j.Unique, j.User, j.Submitted, j.Parent = in.ID, fixed.Unique, fixed.User, fixed.Submitted, fixed.Parent
		if is, taken := owner[j.Unique]; taken && is != j.ID {
			return nil, fmt.Errorf("unique id %q is that of job %d", j.Unique, is)
		}
		if was, there := named[j.ID]; there { // which another may have from now on
			delete(owner, was)
		}
		owner[j.Unique], named[j.ID] = j.ID, j.Unique
		spec, err := roundTrip(*fixed.Spec)
		if err != nil {
			return nil, err
		}
		j.Spec = &spec
		kept = append(kept, j)
		earlier[j.ID] = j
	}
	return kept, nil
}

func (d *Disk) putBatch(b *store.Batch, jobs []store.Job) {
	if len(b.Steps) > 0 {
		d.steps = append(d.steps, store.LogRow{First: d.nextEvent(), Steps: b.Steps})
	}
	d.events = append(d.events, b.Events...)
	d.outbox = append(d.outbox, b.Send...)
	d.nextSend = b.NextSend(d.nextSend)
	for _, id := range b.Sent {
		d.outbox = slices.DeleteFunc(d.outbox, func(o store.Outbound) bool { return o.ID == id })
	}
	for i := range jobs {
		d.jobs[jobs[i].ID] = jobs[i]
		d.nextJob = max(d.nextJob, jobs[i].ID+1)
	}
	for i := range b.Arrays {
		a := b.Arrays[i]
		d.nextJob = max(d.nextJob, a.EndID())
		if d.arrays[a.ID] = a; a.IsComplete() {
			delete(d.arrays, a.ID)
		}
	}
	for _, e := range b.Entries {
		d.entries[e.Job] = append(d.entries[e.Job], e.Entry)
	}
	for _, c := range b.Checkpoints {
		d.saved[store.CheckpointID{Job: c.Job, N: c.N}] = c.Saved
	}
	for _, id := range b.Forget {
		delete(d.saved, id)
	}
	for _, r := range b.Runs {
		d.runs[attempt{r.Job, r.Epoch}] = r
	}
	d.transfers = append(d.transfers, b.Transfers...)
	for _, q := range b.Quotes {
		d.quotes[quoteID{q.Job, q.At, q.Cluster, q.Kind}] = q
	}
	for name, value := range b.Settings {
		d.settings[name] = value
	}
	d.putWeather(b)
}

// nextEvent is the number of the next event.
func (d *Disk) nextEvent() uint64 { return d.first + uint64(len(d.events)) }

// LoadState implements store.Store.
func (s *Store) LoadState(ctx context.Context) (*store.Loaded, error) {
	leave, err := s.lockDisk(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	d := s.d
	l := &store.Loaded{First: d.first, Events: slices.Clone(d.events), Outbox: slices.Clone(d.outbox),
		NextJob: d.nextJob, NextSend: d.nextSend, Snapshots: slices.Clone(d.snapshots)}
	l.Jobs = d.listMatching(func(j *store.Job) bool { return j.IsOpen() })
	for _, id := range slices.Sorted(maps.Keys(d.arrays)) {
		l.Arrays = append(l.Arrays, d.arrays[id])
	}
	return l, nil
}

// SaveSnapshot implements store.Store.
func (s *Store) SaveSnapshot(ctx context.Context, upTo uint64, state []byte) error {
	leave, err := s.lockDisk(ctx)
	if err != nil {
		return err
	}
	defer leave()
	d := s.d
	if upTo >= d.nextEvent() || len(d.snapshots) > 0 && upTo < d.snapshots[0].UpTo {
		return fmt.Errorf("%w: a snapshot after event %d of %d", store.ErrNumber, upTo, d.nextEvent()-1)
	}
	if len(d.snapshots) > 0 && d.snapshots[0].UpTo == upTo {
		d.snapshots = d.snapshots[1:]
	}
	d.snapshots = slices.Insert(d.snapshots, 0, store.Snapshot{UpTo: upTo, State: slices.Clone(state)})
	if len(d.snapshots) >= 2 {
		d.snapshots = d.snapshots[:2]
		needed := d.snapshots[1].UpTo + 1
		d.events = slices.Clone(d.events[needed-d.first:])
		d.first = needed
		d.steps = slices.DeleteFunc(d.steps, func(row store.LogRow) bool { return row.First < needed })
	}
	return nil
}

// ReadLog implements store.Store.
func (s *Store) ReadLog(ctx context.Context, see func(*store.LogPart) error) error {
	leave, err := s.lockDisk(ctx)
	if err != nil {
		return err
	}
	kept, snapshots := slices.Clone(s.d.steps), slices.Clone(s.d.snapshots)
	first, events := s.d.first, slices.Clone(s.d.events)
	leave()
	begin := &store.LogPart{First: first}
	if n := len(snapshots); n > 0 {
		begin.Snapshot, begin.First = &snapshots[n-1], snapshots[n-1].UpTo+1
	}
	if err := see(begin); err != nil {
		return err
	}
	rows := func(yield func(store.LogRow) error) error {
		for _, row := range kept {
			if err := yield(row); err != nil {
				return err
			}
		}
		return nil
	}
	return store.JoinLog(rows, begin.First, first+uint64(len(events)), func(from, below uint64) ([]core.Event, error) {
		return events[from-first : max(from, below)-first], nil
	}, see)
}

// listMatching is the jobs that match, by number.
func (d *Disk) listMatching(match func(*store.Job) bool) []store.Job {
	var list []store.Job
	for _, j := range d.jobs {
		if match(&j) {
			list = append(list, j)
		}
	}
	slices.SortFunc(list, func(a, b store.Job) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// FindJob implements store.Store.
func (s *Store) FindJob(ctx context.Context, ref string) (*store.Job, error) {
	return s.findJob(ctx, ref, func(*store.Job) bool { return true })
}

// FindJobOf implements store.Store.
func (s *Store) FindJobOf(ctx context.Context, user, ref string) (*store.Job, error) {
	return s.findJob(ctx, ref, func(j *store.Job) bool { return j.User == user })
}

func (s *Store) findJob(ctx context.Context, ref string, is func(*store.Job) bool) (*store.Job, error) {
	leave, err := s.lockDisk(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if n, err := strconv.ParseInt(ref, 10, 64); err == nil {
		if j, there := s.d.jobs[core.JobID(n)]; there && is(&j) {
			return &j, nil
		}
	}
	found := s.d.listMatching(func(j *store.Job) bool { return ref != "" && strings.HasPrefix(j.Unique, ref) && is(j) })
	if i := slices.IndexFunc(found, func(j store.Job) bool { return j.Unique == ref }); i >= 0 {
		return &found[i], nil
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("%w: %q", store.ErrNoJob, ref)
	case 1:
		return &found[0], nil
	}
	return nil, fmt.Errorf("%w: %q", store.ErrManyJobs, ref)
}

// ListJobs implements store.Store.
func (s *Store) ListJobs(ctx context.Context, f store.Filter) ([]store.Job, error) {
	leave, err := s.lockDisk(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	list := s.d.listMatching(func(j *store.Job) bool {
		return (!f.Open || j.IsOpen()) && (f.User == "" || j.User == f.User) && (f.Parent == 0 || j.Parent == f.Parent) &&
			j.ID >= f.From && (f.Below == 0 || j.ID < f.Below)
	})
	if !f.OldestFirst {
		slices.Reverse(list)
	}
	return firstN(list, f.Limit), nil
}

func firstN[T any](list []T, limit int) []T {
	if limit > 0 && len(list) > limit {
		return list[:limit]
	}
	return list
}
