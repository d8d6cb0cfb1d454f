// Package storetest is the suite that every store passes. It knows the port
// alone.
package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Backend is where a store of one test is kept.
type Backend interface {
	// Open opens the store, empty at first; again after Close or CrashStore with what
	// was committed.
	Open() (store.Store, error)
	// CrashStore drops the open store as if its process had been killed.
	CrashStore()
}

// Run puts a kind of store through the suite; place gives each test a place of
// its own.
func Run(t *testing.T, place func(t *testing.T) Backend) {
	for name, test := range map[string]func(*fixture){
		"a new store is empty":                                   newStoreIsEmpty,
		"everything in a batch comes back":                       everythingComesBack,
		"every field of a job comes back":                        everyFieldComesBack,
		"everything survives a crash":                            everythingSurvives,
		"an empty batch changes nothing":                         emptyBatch,
		"events must be numbered without a gap":                  testNumbering,
		"a batch that cannot be stored leaves nothing":           wholeOrNothing,
		"commands leave the outbox when they were sent":          testOutbox,
		"no number is given out twice":                           numbersAreNotReused,
		"two snapshots are kept, and the events since the older": testSnapshots,
		"the log tells what events came of":                      testLog,
		"a job is found by number and by the start of its id":    testFinding,
		"jobs are listed newest first":                           testListing,
		"lists find jobs by what they are, page by page":         testSearch,
		"events are read from any that is kept":                  testEventsSince,
		"what was predicted is listed by job":                    testOutlooks,
		"a job is open until its results are home":               testOpenness,
		"what a job asked for stays though it is not sent again": specStays,
		"checkpoints are listed newest first until forgotten":    testCheckpoints,
		"trees that are needed are told":                         testRoots,
		"history is listed newest first and by what it is about": testPast,
		"an array is kept until every element has its record":    testArrays,
		"a workflow is kept with its tasks and its decisions":    testFlows,
		"trees that open workflows need are told":                testFlowRoots,
		"a pool is kept with what became of its items":           testPools,
		"settings are kept and removed":                          testSettings,
		"readings are listed by series, and thinned":             testWeather,
		"a closed store says so":                                 testClosed,
		"a second opener is told that somebody has it":           secondOpener,
		"questions are answered while batches are being written": testConcurrentReads,
	} {
		t.Run(name, func(t *testing.T) {
			f := &fixture{T: t, place: place(t), ctx: t.Context()}
			f.openStore()
			test(f)
			if f.s != nil {
				f.mustSucceed(f.s.Close())
			}
		})
	}
}

type fixture struct {
	*testing.T
	place Backend
	s     store.Store
	ctx   context.Context
}

func (f *fixture) mustSucceed(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) openStore() {
	f.Helper()
	var err error
	f.s, err = f.place.Open()
	f.mustSucceed(err)
}

func (f *fixture) crashStore() {
	f.Helper()
	f.place.CrashStore()
	f.openStore()
}

func (f *fixture) commitBatch(b *store.Batch) {
	f.Helper()
	f.mustSucceed(f.s.CommitBatch(f.ctx, b))
}

func (f *fixture) loadState() *store.Loaded {
	f.Helper()
	l, err := f.s.LoadState(f.ctx)
	f.mustSucceed(err)
	return l
}

// checkSame fails unless both are the same as JSON: numbers in maps of anything come
// back as floating point.
func (f *fixture) checkSame(what string, got, want any) {
	f.Helper()
	g, err1 := json.Marshal(got)
	w, err2 := json.Marshal(want)
	f.mustSucceed(errors.Join(err1, err2))
	if string(g) != string(w) {
		f.Errorf("%s: (-want +got)\n%s", what, cmp.Diff(string(w), string(g)))
	}
}

func mustGet[T any](f *fixture) func(v T, err error) T {
	return func(v T, err error) T {
		f.Helper()
		f.mustSucceed(err)
		return v
	}
}

// aJob is a job with something in every field.
func aJob(id core.JobID) store.Job {
	return store.Job{
		ID: id, Unique: fmt.Sprintf("%04x-unique", id), User: "ada", Submitted: core.AtSecond(float64(id)), Parent: 0,
		Spec:  aSpec(),
		Index: 3, State: core.Running, Cluster: "uh", Hosts: []string{"uh1", "uh2"}, Procs: "0-3,8", Epoch: 2, Mark: "m",
		Method: "sandbox", Seq: 12,
		Started: core.AtSecond(5), Ended: core.AtSecond(6), Code: 7, Promise: 12.5, Deadline: core.AtSecond(60),
		Chance: 0.5, Known: true,
		Runs: 4, Losses: 1, Migrations: 1, Checkpoints: 2, CPU: 1.5, Wall: 2.5, Waiting: 0.5, Used: 1.25,
		Work: fmt.Sprintf("work%d", id), Result: "", StagedOut: false, Out: 100, Err: 10, Reason: "runs",
	}
}

func aSpec() *jobfile.Job {
	return &jobfile.Job{Name: "qr", Argv: []string{"./qr", "ü \x01 \"quoted\""}, Env: map[string]string{"SEED": "7"},
		Deadline: time.Minute,
		Min:      1, Max: 4, Kind: core.Malleable, Checkpoint: jobfile.Checkpoint{Method: "auto"},
		Array: jobfile.ArrayRange{First: 1, Last: 9, Step: 2, AtOnce: 3}}
}

func anEvent(n int) core.Event {
	return core.Event{At: core.AtSecond(float64(n)), Kind: core.JobProgressed, Job: core.JobID(n), Done: 0.25,
		Procs: core.ProcSet{{Lo: 0, Hi: 4}}, Why: core.Reason{Code: core.MakeRoom, A: 1, B: 2}}
}

func eventRange(from, to int) []core.Event {
	var list []core.Event
	for n := from; n <= to; n++ {
		list = append(list, anEvent(n))
	}
	return list
}

// fullBatch is a batch with something of everything.
func fullBatch() *store.Batch {
	j := aJob(1)
	return &store.Batch{
		First: 1, Events: eventRange(1, 3),
		Send: []store.Outbound{{ID: 1,
			Command: core.Command{Kind: core.Start, Job: 1, Epoch: 2, Procs: core.ProcSet{{Lo: 1, Hi: 2}}}},
			{ID: 2, Command: core.Command{Kind: core.Release, Job: 1, Epoch: 1}}},
		Jobs: []store.Job{j},
		Entries: []store.Entry{{Job: 1,
			Entry: wire.Entry{At: 5, Kind: "place", Choice: "uh", Why: "most idle",
				Inputs: map[string]any{"idle": 4.0, "list": []any{"a"}}}},
			{Job: 1, Entry: wire.Entry{At: 6, Kind: "end", Choice: "done", Why: "exited"}}},
		Checkpoints: []store.Checkpoint{{Job: 1,
			Saved: wire.Saved{N: 1, Epoch: 1, Method: "sandbox", At: 4, Image: "img", Work: "wrk", Out: 5, Used: 0.5,
				Bytes: 1 << 40}}},
		Runs: []history.Run{{Job: 1, Epoch: 1, Cluster: "uh", User: "ada", Program: "qr", Args: []string{"10"},
			Outcome: history.Finished, Ended: 9, Need: 3}},
		Transfers: []history.Transfer{{At: 3, Job: 1, What: history.Save, From: "uh", Program: "qr", Bytes: 10, Sent: 5,
			Seconds: 0.5}},
		Quotes: []history.Quote{{At: 2, Job: 1, Cluster: "uh", Kind: "quote", Program: "qr", Finish: []float64{1, 2},
			Chance: 0.9}},
		Settings: map[string]string{"colour": "grün"},
		Weather:  []store.Reading{{What: "mbps", From: "a", To: "b", At: 7, Value: 94.5}},
	}
}

func newStoreIsEmpty(f *fixture) {
	l := f.loadState()
	if l.First != 1 || l.NextEvent() != 1 || l.NextJob != 1 || l.NextSend != 1 || len(l.Snapshots)+len(l.Events)+
		len(l.Outbox)+len(l.Jobs) != 0 {
		f.Errorf("a new store has %+v", l)
	}
	if list := mustGet[[]store.Job](f)(f.s.ListJobs(f.ctx, store.Filter{})); len(list) > 0 {
		f.Errorf("a new store has jobs %v", list)
	}
}

func (f *fixture) hasAllOf(b *store.Batch) {
	f.Helper()
	l := f.loadState()
	f.checkSame("events", l.Events, b.Events)
	f.checkSame("outbox", l.Outbox, b.Send)
	if len(l.Jobs) != 1 || l.First != 1 || l.NextEvent() != 4 || l.NextJob != 2 || l.NextSend != 3 {
		f.Fatalf("loaded %+v", l)
	}
	if diff := cmp.Diff(b.Jobs[0], l.Jobs[0]); diff != "" {
		f.Errorf("the job comes back differently: (-want +got)\n%s", diff)
	}
	f.checkSame("entries", mustGet[[]wire.Entry](f)(f.s.ListEntries(f.ctx, 1)),
		[]wire.Entry{b.Entries[0].Entry, b.Entries[1].Entry})
	f.checkSame("checkpoints", mustGet[[]wire.Saved](f)(f.s.ListCheckpoints(f.ctx, 1)),
		[]wire.Saved{b.Checkpoints[0].Saved})
	f.checkSame("runs", mustGet[[]history.Run](f)(f.s.ListRuns(f.ctx, store.Past{})), b.Runs)
	f.checkSame("weather", mustGet[[]store.Reading](f)(f.s.ListReadings(f.ctx, store.Series{})), b.Weather)
	f.checkSame("transfers", mustGet[[]history.Transfer](f)(f.s.ListTransfers(f.ctx, store.Past{})), b.Transfers)
	f.checkSame("quotes", mustGet[[]history.Quote](f)(f.s.ListQuotes(f.ctx, store.Past{})), b.Quotes)
	f.checkSame("setting", mustGet[string](f)(f.s.GetSetting(f.ctx, "colour")), "grün")
}

func everythingComesBack(f *fixture) {
	b := fullBatch()
	f.commitBatch(b)
	f.hasAllOf(b)
}

func everyFieldComesBack(f *fixture) {
	j := aJob(5)
	j.Owner, j.Parent, j.Result, j.StagedOut, j.Outgoing = 1001, 4, "result", true, "/outgoing/1.1"
	j.PinnedTo, j.Peak, j.Failure, j.Warnings = "north", 1<<30, "out_of_memory", []string{"it tried to connect"}
	j.Offered, j.Size = "4-7", 3
	j.Held, j.Suspended, j.Redated = true, 9, true
	j.Changed = &store.Changed{Name: "other", Labels: map[string]string{"sweep": "3"}, On: []string{"north"}}
	j.Delivered, j.NamesOutputs, j.Partial, j.FromCheckpoint, j.Lost, j.Missing = true, true, true, 2, true,
		[]string{"nope.txt"}
	j.OutputCut, j.Named = true, true
	j.Orders, j.StopOrder, j.SaveOrder = 3, 2, 1
	j.Parts = []store.Part{{Cluster: "north", Hosts: []string{"n1"}, Procs: "0-1", Seq: 3},
		{Cluster: "south", Hosts: []string{"s1", "s2"}, Procs: "4", Seq: 5, Out: 6, Err: 7}}
	j.NotBefore, j.After = 7, []store.Wait{{Job: 3, Array: true, When: jobfile.Over}}
	j.Inputs = []store.Input{{Input: wire.Input{Name: "x", From: "leeds:x", Path: "/home/x", Tree: "tree"},
		Site: "leeds", Size: 5, ModTime: 6, Away: "gone"}}
	for v, i := reflect.ValueOf(j), 0; i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			f.Fatalf("the test gives field %s no value", v.Type().Field(i).Name)
		}
	}
	f.commitBatch(&store.Batch{Jobs: []store.Job{j}})
	if diff := cmp.Diff(&j, mustGet[*store.Job](f)(f.s.FindJob(f.ctx, "5"))); diff != "" {
		f.Errorf("(-want +got)\n%s", diff)
	}
}

func everythingSurvives(f *fixture) {
	b := fullBatch()
	f.commitBatch(b)
	f.crashStore()
	f.hasAllOf(b)
	f.mustSucceed(f.s.Close())
	f.openStore()
	f.hasAllOf(b)
}

func emptyBatch(f *fixture) {
	b := fullBatch()
	f.commitBatch(b)
	if empty := (&store.Batch{First: 99}); !empty.IsEmpty() || b.IsEmpty() {
		f.Error("a batch does not know whether it is empty")
	}
	f.commitBatch(&store.Batch{First: 99})
	f.hasAllOf(b)
}

func testNumbering(f *fixture) {
	f.commitBatch(&store.Batch{First: 1, Events: eventRange(1, 2)})
	for _, wrong := range []uint64{0, 1, 2, 4, math.MaxUint64} {
		if err := f.s.CommitBatch(f.ctx, &store.Batch{First: wrong, Events: eventRange(1, 1)}); !errors.Is(err,
			store.ErrNumber) {
			f.Errorf("event %d after 2 is taken: %v", wrong, err)
		}
	}
	f.commitBatch(&store.Batch{First: 3, Events: eventRange(3, 3)})
	f.checkSame("events", f.loadState().Events, eventRange(1, 3))
}

func wholeOrNothing(f *fixture) {
	b := fullBatch()
	f.commitBatch(b)
	again := aJob(9)
	again.Unique = b.Jobs[0].Unique
	bare := aJob(9)
	bare.Spec = nil
	for name, spoil := range map[string]func(*store.Batch){
		"a record that cannot be written": func(b *store.Batch) { b.Quotes = []history.Quote{{Chance: math.NaN()}} },
		"an event that cannot be written": func(b *store.Batch) { b.Events[1].Kind = 0 },
		"an id of the outbox used again":  func(b *store.Batch) { b.Send[0].ID = 1 },
		"ids of the outbox out of order":  func(b *store.Batch) { b.Send[0].ID = 12 },
		"a unique id that is not":         func(b *store.Batch) { b.Jobs = []store.Job{again} },
		"a job without a number":          func(b *store.Batch) { b.Jobs[0].ID = 0 },
		"a job without a unique id":       func(b *store.Batch) { b.Jobs[0].Unique = "" },
		"a new job without a description": func(b *store.Batch) { b.Jobs = []store.Job{bare} },
	} {
		bad := fullBatch()
		bad.First, bad.Send[0].ID, bad.Send[1].ID, bad.Settings["colour"], bad.Jobs[0].Reason = 4, 10, 11, "blau", "changed"
		spoil(bad)
		if err := f.s.CommitBatch(f.ctx, bad); err == nil {
			f.Errorf("%s: no error", name)
		}
		f.hasAllOf(b)
	}
	f.commitBatch(&store.Batch{First: 4, Events: eventRange(4, 4)})
}

func testOutbox(f *fixture) {
	send := func(ids ...uint64) (list []store.Outbound) {
		for _, id := range ids {
			list = append(list, store.Outbound{ID: id, Command: core.Command{Kind: core.Start, Job: core.JobID(id), Epoch: 1}})
		}
		return list
	}
	f.commitBatch(&store.Batch{Send: send(3, 5, 9)})
	f.commitBatch(&store.Batch{Send: send(10), Sent: []uint64{10, 5, 77}})
	f.checkSame("outbox", f.loadState().Outbox, send(3, 9))
	f.commitBatch(&store.Batch{Sent: []uint64{3, 9, 3}})
	f.crashStore()
	if l := f.loadState(); len(l.Outbox) != 0 || l.NextSend != 11 {
		f.Errorf("outbox %v, next id %d", l.Outbox, l.NextSend)
	}
}

func numbersAreNotReused(f *fixture) {
	done := aJob(41)
	done.State = core.Done
	f.commitBatch(&store.Batch{Jobs: []store.Job{done}})
	f.crashStore()
	if l := f.loadState(); l.NextJob != 42 || len(l.Jobs) != 0 {
		f.Errorf("next job %d, open %v", l.NextJob, l.Jobs)
	}
}

func testSnapshots(f *fixture) {
	state := func(n int) []byte { return []byte(strings.Repeat("\x00state", n)) }
	if err := f.s.SaveSnapshot(f.ctx, 1, nil); !errors.Is(err, store.ErrNumber) {
		f.Errorf("a snapshot after an event that is not there: %v", err)
	}
	f.mustSucceed(f.s.SaveSnapshot(f.ctx, 0, nil))
	f.commitBatch(&store.Batch{First: 1, Events: eventRange(1, 10)})
	f.mustSucceed(f.s.SaveSnapshot(f.ctx, 4, state(1000)))
	if l := f.loadState(); l.First != 1 || len(l.Events) != 10 || len(l.Snapshots) != 2 {
		f.Errorf("events from %d, %d of them, %d snapshots", l.First, len(l.Events), len(l.Snapshots))
	}
	f.mustSucceed(f.s.SaveSnapshot(f.ctx, 8, state(2)))
	if err := f.s.SaveSnapshot(f.ctx, 7, nil); !errors.Is(err, store.ErrNumber) {
		f.Errorf("a snapshot older than the newest: %v", err)
	}
	f.crashStore()
	l := f.loadState()
	f.checkSame("snapshots", l.Snapshots, []store.Snapshot{{UpTo: 8, State: state(2)}, {UpTo: 4, State: state(1000)}})
	f.checkSame("events", l.Events, eventRange(5, 10))
	for n, want := range map[uint64]int{3: -1, 4: 6, 8: 2, 10: 0, 11: -1} {
		if list, ok := l.EventsAfter(n); ok != (want >= 0) || ok && len(list) != want {
			f.Errorf("after event %d come %d, %v", n, len(list), ok)
		}
	}
	f.commitBatch(&store.Batch{First: 11, Events: eventRange(11, 12)})
	f.mustSucceed(f.s.SaveSnapshot(f.ctx, 12, state(3)))
	f.mustSucceed(f.s.SaveSnapshot(f.ctx, 12, state(4))) // in place of it
	f.checkSame("snapshots", f.loadState().Snapshots,
		[]store.Snapshot{{UpTo: 12, State: state(4)}, {UpTo: 8, State: state(2)}})
	f.commitBatch(&store.Batch{First: 13, Events: eventRange(13, 13)})
	f.mustSucceed(f.s.SaveSnapshot(f.ctx, 13, state(5)))
	f.commitBatch(&store.Batch{First: 14, Events: eventRange(14, 14)})
	f.mustSucceed(f.s.SaveSnapshot(f.ctx, 14, state(5)))
	f.crashStore()
	if l := f.loadState(); l.First != 14 || l.NextEvent() != 15 {
		f.Errorf("events from %d, next %d", l.First, l.NextEvent())
	}
	f.commitBatch(&store.Batch{First: 15, Events: eventRange(15, 15)})
}

func testFinding(f *fixture) {
	b := &store.Batch{}
	for id, unique := range map[core.JobID]string{1: "3fa0", 2: "3fa0bc", 3: "3fb", 12: "77", 77: "12", 13: "ünï"} {
		j := aJob(id)
		j.Unique, j.User = unique, map[bool]string{true: "ann", false: "ben"}[id < 3]
		b.Jobs = append(b.Jobs, j)
	}
	f.commitBatch(b)
	for ref, want := range map[string]core.JobID{"1": 77, "12": 12, "3f": 3, "3fb": 3, "77": 77, "3fa": 0, "2": 0, "": 0} {
		j, err := f.s.FindJobOf(f.ctx, "ben", ref)
		if want == 0 && !errors.Is(err, store.ErrNoJob) || want != 0 && (err != nil || j.ID != want) {
			f.Errorf("of ben's, %q finds %v, %v; want job %d", ref, j, err, want)
		}
	}
	for ref, want := range map[string]core.JobID{"1": 1, "3fa0": 1, "3fa0b": 2, "3fb": 3, "12": 12, "77": 77, "ü": 13} {
		j, err := f.s.FindJob(f.ctx, ref)
		if err != nil || j.ID != want {
			f.Errorf("%q finds %v, %v; want job %d", ref, j, err, want)
		}
	}
	for ref, want := range map[string]error{"3f": store.ErrManyJobs, "3fa": store.ErrManyJobs, "": store.ErrNoJob,
		"4": store.ErrNoJob, "-1": store.ErrNoJob,
		"%": store.ErrNoJob, "3fa0bcd": store.ErrNoJob, "99999999999999999999": store.ErrNoJob,
		"' OR 1=1 --": store.ErrNoJob} {
		if j, err := f.s.FindJob(f.ctx, ref); !errors.Is(err, want) {
			f.Errorf("%q finds %v, %v; want %v", ref, j, err, want)
		}
	}
}

func jobIDs(list []store.Job) []core.JobID {
	var numbers []core.JobID
	for _, j := range list {
		numbers = append(numbers, j.ID)
	}
	return numbers
}

func testListing(f *fixture) {
	b := &store.Batch{}
	for id := core.JobID(1); id <= 9; id++ {
		j := aJob(id)
		j.User = []string{"ada", "bob"}[id%2]
		if id > 6 {
			j.Parent = 6
		}
		if id%3 == 0 {
			j.State = core.Cancelled
		}
		b.Jobs = append(b.Jobs, j)
	}
	f.commitBatch(b)
	for _, c := range []struct {
		filter store.Filter
		want   []core.JobID
	}{
		{store.Filter{}, []core.JobID{9, 8, 7, 6, 5, 4, 3, 2, 1}},
		{store.Filter{Limit: 2}, []core.JobID{9, 8}},
		{store.Filter{Open: true}, []core.JobID{8, 7, 5, 4, 2, 1}},
		{store.Filter{User: "bob"}, []core.JobID{9, 7, 5, 3, 1}},
		{store.Filter{User: "bob", Open: true, Limit: 2}, []core.JobID{7, 5}},
		{store.Filter{Parent: 6}, []core.JobID{9, 8, 7}},
		{store.Filter{Parent: 6, Below: 9, Limit: 1}, []core.JobID{8}},
		{store.Filter{User: "eve"}, nil},
		{store.Filter{OldestFirst: true, From: 3, Limit: 4}, []core.JobID{3, 4, 5, 6}},
		{store.Filter{OldestFirst: true, User: "bob", Below: 6}, []core.JobID{1, 3, 5}},
	} {
		if got := jobIDs(mustGet[[]store.Job](f)(f.s.ListJobs(f.ctx, c.filter))); !slices.Equal(got, c.want) {
			f.Errorf("%+v lists %v, want %v", c.filter, got, c.want)
		}
	}
	f.checkSame("open jobs", jobIDs(f.loadState().Jobs), []core.JobID{1, 2, 4, 5, 7, 8})
}

func testOpenness(f *fixture) {
	j := aJob(1)
	for _, step := range []struct {
		state  core.State
		result string
		home   bool
		open   bool
	}{{core.Submitted, "", false, true}, {core.Running, "", false, true}, {core.Done, "tree", false, true},
		{core.Done, "tree", true, false}, {core.Failed, "", false, false}} {
		j.State, j.Result, j.StagedOut = step.state, step.result, step.home
		f.commitBatch(&store.Batch{Jobs: []store.Job{j}})
		if got := len(f.loadState().Jobs) == 1; got != step.open {
			f.Errorf("%+v is open: %v", step, got)
		}
	}
}

func specStays(f *fixture) {
	j := aJob(1)
	f.commitBatch(&store.Batch{Jobs: []store.Job{j}})
	j.Spec, j.State = nil, core.Done
	f.commitBatch(&store.Batch{Jobs: []store.Job{j}})
	fresh, bare := aJob(2), aJob(2)
	bare.Spec, bare.Reason = nil, "second in one batch"
	f.commitBatch(&store.Batch{Jobs: []store.Job{fresh, bare}})
	for _, ref := range []string{"1", "2"} {
		f.checkSame("spec", mustGet[*store.Job](f)(f.s.FindJob(f.ctx, ref)).Spec, aSpec())
	}
	if j := mustGet[*store.Job](f)(f.s.FindJob(f.ctx, "2")); j.Reason != bare.Reason {
		f.Errorf("the second of two in one batch is not the one that stays: %q", j.Reason)
	}
}
