package world

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// rebuilt says of every type in a snapshot what is not in it because it
// follows from the rest.
var rebuilt = []struct {
	live, shot reflect.Type
	fields     string
}{
	{reflect.TypeFor[World](), reflect.TypeFor[worldShot](), "spec recent putOff retries spare arrays nowhere copying"},
	{reflect.TypeFor[Cluster](), reflect.TypeFor[clusterShot](),
		"id spec procs speed memory free held idle blocked hint waiting queued running malleable growable shrinkable asking reclaimable " +
			"offers leaving drained"},
	{reflect.TypeFor[Job](), reflect.TypeFor[jobShot](), "onePart single queued ticket"},
	{reflect.TypeFor[Part](), reflect.TypeFor[partShot](), "job oneHost"},
	{reflect.TypeFor[heldTarget](), reflect.TypeFor[heldShot](), ""},
	{reflect.TypeFor[foretold](), reflect.TypeFor[foretoldShot](), ""},
	{reflect.TypeFor[rescheduling](), reflect.TypeFor[reschedulingShot](), "contracted"},
	{reflect.TypeFor[offer](), reflect.TypeFor[offerShot](), ""},
	{reflect.TypeFor[pace](), reflect.TypeFor[paceShot](), ""},
	{reflect.TypeFor[Scaling](), reflect.TypeFor[scalingShot](), "cache"},
	{reflect.TypeFor[Timer](), reflect.TypeFor[Timer](), "seq"},
	{reflect.TypeFor[timers](), reflect.TypeFor[worldShot](), "line first heap seq"},
	{reflect.TypeFor[queue](), reflect.TypeFor[worldShot](), "jobs base size tree count"},
}

func TestEveryFieldOfTheWorldIsInASnapshotOrFollowsFromIt(t *testing.T) {
	for _, r := range rebuilt {
		follows := map[string]bool{}
		for _, name := range strings.Fields(r.fields) {
			if _, there := r.live.FieldByName(name); !there {
				t.Errorf("%v has no field %s any more", r.live, name)
			}
			follows[name] = true
		}
		for i := range r.live.NumField() {
			name := r.live.Field(i).Name
			if _, kept := r.shot.FieldByName(strings.ToUpper(name[:1]) + name[1:]); !kept && !follows[name] {
				t.Errorf("%v.%s is not in a snapshot: add it to %v and to the functions shot, or to the list of what follows "+
					"from the rest", r.live, name, r.shot)
			}
		}
	}
}

// fill gives everything in v a value that differs from all others.
func fill(v reflect.Value, next *int) {
	*next++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), next)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), next)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), next)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString(fmt.Sprint("s", *next))
	case reflect.Float64:
		v.SetFloat(float64(*next) / 4)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(uint64(*next))
	default:
		v.SetInt(int64(*next))
	}
}

func TestEveryFieldOfASnapshotIsWrittenAndReadBack(t *testing.T) {
	n := 0
	var job, back jobShot
	fill(reflect.ValueOf(&job).Elem(), &n)
	job.Scaling, job.Spec.App, job.Parts = nil, "ft", nil
	if back = job.toJob().takeShot(nil); !reflect.DeepEqual(job, back) {
		t.Errorf("a job\n%+v\nis read back as\n%+v", job, back)
	}
	var part partShot
	fill(reflect.ValueOf(&part).Elem(), &n)
	part.Cluster = 1
	p := part.toPart(New(testSpec(4, 4)).clusters)
	if back := p.takeShot(); !reflect.DeepEqual(part, back) {
		t.Errorf("a part\n%+v\nis read back as\n%+v", part, back)
	}
	var scaling scalingShot
	fill(reflect.ValueOf(&scaling).Elem(), &n)
	scaling.Misfit, scaling.Best = make([]float64, len(curves)), 5
	s, err := scaling.toScaling()
	if err != nil {
		t.Fatal(err)
	}
	if back := s.takeShot(newScaling()); !reflect.DeepEqual(scaling, back) {
		t.Errorf("a scaling\n%+v\nis read back as\n%+v", scaling, back)
	}
}

// sameReads compares what the engine asks a world for.
func sameReads(t *testing.T, a, b *World) {
	t.Helper()
	if x, y := a.AppendState(nil), b.AppendState(nil); !bytes.Equal(x, y) {
		t.Fatalf("the world is\n%s\nthe restored one\n%s", x, y)
	}
	number := func(j *Job) core.JobID {
		if j == nil {
			return 0
		}
		return j.spec.ID
	}
	reads := func(w *World) string {
		s := fmt.Sprint(w.Now(), w.LiveCount(), w.QueueLength(), number(w.QueueHead()), w.LastScan(), w.NeedsRescan(),
			number(w.OutOfTries(nil)), w.NextTimer())
		due, ok := w.DueTimer(w.Now() + 50)
		s += fmt.Sprint(due.At, due.Kind, due.Job, due.Epoch, due.Part, ok)
		for room := range 12 {
			s += fmt.Sprint(" ", number(w.NextCandidate(nil, room, 2*room)))
		}
		for _, c := range w.Clusters() {
			s += fmt.Sprint(" ", c.IdleProcs(), c.AvailableProcs(), c.GrowRoom(), c.Share(), c.ChooseProcs(3, nil),
				len(c.MalleableParts()), len(c.GrowableParts()), len(c.ShrinkableParts()), len(c.AskingParts()))
		}
		for _, id := range sortedKeys(w.jobs) {
			j := w.jobs[id]
			s += fmt.Sprint(" ", w.PlacementTries(j), j.RemainingSeconds(4, w.Now()),
				len(w.HoldersOf(w.clusters[0], core.ProcSet{{Lo: 0, Hi: 4}})))
		}
		return s
	}
	if x, y := reads(a), reads(b); x != y {
		t.Fatalf("the world answers\n%s\nthe restored one\n%s", x, y)
	}
}

func restored(t testing.TB, spec Spec, w *World) *World {
	t.Helper()
	shot, err := w.EncodeSnapshot()
	if err != nil {
		t.Fatal(err)
	}
	back, err := RestoreSnapshot(spec, shot)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// FuzzSnapshot: at whatever moment a snapshot is taken, the restored world
// goes on like the one it was taken of.
func FuzzSnapshot(f *testing.F) {
	for i := range uint64(40) {
		random := rand.New(rand.NewPCG(i, 1))
		seed := make([]byte, 2000+i)
		for k := range seed {
			seed[k] = byte(random.Uint32())
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		spec := testSpec(10, 70)
		spec.Clusters[1].Managed, spec.Clusters[1].Resizes = len(data)%2 == 0, len(data)%4 == 0
		spec.Files = []FileSpec{{Bytes: 1, At: []core.ClusterID{0}}}
		w := New(spec)
		twin := restored(t, spec, w)
		var taken []core.Event
		for s := (&source{data[:min(len(data), 4000)]}); len(s.data) > 0; {
			ev := s.event(w)
			if w.ApplyEvent(&ev) != nil {
				if again := ev; twin.ApplyEvent(&again) == nil {
					t.Fatalf("the restored world takes %+v", ev)
				}
				w = replay(t, spec, taken)
				twin = restored(t, spec, w)
				continue
			}
			taken = append(taken, ev)
			if err := twin.ApplyEvent(&ev); err != nil {
				t.Fatalf("the restored world refuses %+v: %v", ev, err)
			}
			if len(taken)%8 == 0 {
				sameReads(t, w, twin)
				twin = restored(t, spec, w)
			}
			if err := twin.CheckInvariants(); err != nil {
				t.Fatal(err)
			}
		}
		sameReads(t, w, twin)
	})
}

// busy is a world with something everywhere.
func busy(t testing.TB, spec Spec, events int) *World {
	random := rand.New(rand.NewPCG(uint64(events), 3))
	data := make([]byte, 60*events)
	for k := range data {
		data[k] = byte(random.Uint32())
	}
	w := New(spec)
	var taken []core.Event
	for s := (&source{data}); len(s.data) > 0 && len(taken) < events; {
		ev := s.event(w)
		if w.ApplyEvent(&ev) == nil {
			taken = append(taken, ev)
			continue
		}
		w = New(spec)
		for i := range taken {
			if err := w.ApplyEvent(&taken[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	return w
}

func TestASnapshotOfAnotherVersionIsRefused(t *testing.T) {
	spec := testSpec(10, 70)
	good, err := busy(t, spec, 300).EncodeSnapshot()
	if err != nil {
		t.Fatal(err)
	}
	reseal := func(b []byte) []byte {
		binary.BigEndian.PutUint32(b[len(snapshotMagic)+4:], crc32.ChecksumIEEE(b[snapshotHead:]))
		return b
	}
	for name, c := range map[string]struct {
		bytes []byte
		want  error
	}{
		"nothing":        {nil, ErrBadSnapshot},
		"something else": {[]byte("a snapshot of nothing at all"), ErrBadSnapshot},
		"half of it":     {good[:len(good)/2], ErrBadSnapshot},
		"another version": {append([]byte(snapshotMagic+"\x00\x00\x00\x63"), good[len(snapshotMagic)+4:]...),
			ErrOtherVersion},
		"a changed bit": {append(bytes.Clone(good[:len(good)-1]), good[len(good)-1]^1), ErrBadSnapshot},
		"states renumbered": {reseal(bytes.Replace(bytes.Clone(good), []byte("SUBMITTED"), []byte("SUBMITTER"), 1)),
			ErrOtherVersion},
	} {
		if _, err := RestoreSnapshot(spec, c.bytes); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestASnapshotOfOtherClustersIsRefusedUnlessNothingOfOursWasThere(t *testing.T) {
	spec := testSpec(10, 70)
	w := New(spec)
	j := &core.Job{ID: 1, Components: []core.Component{{Min: 2, Max: 2}}}
	for _, ev := range []core.Event{
		{Kind: core.JobSubmitted, Job: 1, Spec: j},
		{Kind: core.PartPlanned, Job: 1, Epoch: 1, Cluster: 0, N: 2, Min: 2, Max: 2, Procs: core.ProcSet{{Lo: 0, Hi: 2}}},
		{Kind: core.OthersPolled, Cluster: 0, Procs: core.ProcSet{{Lo: 5, Hi: 6}}},
		{Kind: core.OthersPolled, Cluster: 1, Procs: core.ProcSet{{Lo: 5, Hi: 60}}},
	} {
		if err := w.ApplyEvent(&ev); err != nil {
			t.Fatal(err)
		}
	}
	shot, err := w.EncodeSnapshot()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*Spec)
		want   error
		idle   []int
	}{
		"nothing changed": {func(*Spec) {}, nil, []int{7, 15}},
		"one more at the end": {func(s *Spec) {
			s.Clusters = append(s.Clusters, ClusterSpec{Name: "new", Hosts: []HostSpec{{Procs: 5}}})
		}, nil, []int{7, 15, 5}},
		"faster, more kept free": {func(s *Spec) { s.Clusters[0].Hosts[0].Speed, s.Clusters[0].KeepFree = 7, 2 }, nil,
			[]int{7, 15}},
		"other hosts where none is": {func(s *Spec) { s.Clusters[1].Hosts = []HostSpec{{Procs: 3}} }, nil, []int{7, 3}},
		"other hosts where one is":  {func(s *Spec) { s.Clusters[0].Hosts = []HostSpec{{Procs: 11}} }, ErrOtherClusters, nil},
		"a queue where one is":      {func(s *Spec) { s.Clusters[0].Managed = true }, ErrOtherClusters, nil},
		"one fewer":                 {func(s *Spec) { s.Clusters = s.Clusters[:1] }, ErrOtherClusters, nil},
		"another name":              {func(s *Spec) { s.Clusters[1].Name = "other" }, ErrOtherClusters, nil},
	} {
		changed := testSpec(10, 70)
		c.change(&changed)
		back, err := RestoreSnapshot(changed, shot)
		if !errors.Is(err, c.want) || err == nil != (c.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
			continue
		}
		for i, idle := range c.idle {
			if got := back.Cluster(core.ClusterID(i)).IdleProcs(); got != idle {
				t.Errorf("%s: cluster %d has %d idle, want %d", name, i, got, idle)
			}
		}
	}
}

// FuzzRestore: whatever is read as a snapshot is refused or gives a sound
// world. The checksum is made right, or nothing would get past it.
func FuzzRestore(f *testing.F) {
	spec := testSpec(10, 70)
	for _, events := range []int{0, 40, 300} {
		shot, err := busy(f, spec, events).EncodeSnapshot()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(shot)
		for at := snapshotHead; at < len(shot); at += 1 + len(shot)/150 {
			damaged := bytes.Clone(shot)
			damaged[at] += byte(1 + at%200)
			f.Add(damaged)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < snapshotHead {
			return
		}
		copy(data, snapshotMagic+"\x00\x00\x00\x01")
		binary.BigEndian.PutUint32(data[len(snapshotMagic)+4:], crc32.ChecksumIEEE(data[snapshotHead:]))
		w, err := RestoreSnapshot(spec, data)
		if err != nil {
			return
		}
		w.NextTimer()
		w.NextCandidate(nil, 5, 10)
		w.OutOfTries(nil)
		w.AppendState(nil)
	})
}

func benchmarkWorld(b *testing.B, jobs int) (Spec, *World) {
	spec := testSpec(jobs, jobs)
	w := New(spec)
	for id := core.JobID(1); id <= core.JobID(jobs); id++ {
		j := &core.Job{ID: id, Name: "engine-diagnosis", User: "ada", Kind: core.Kind(id % 3), App: []string{"", "xto"}[id%2],
			Components: []core.Component{{Min: 1, Max: 4, Clusters: []core.ClusterID{0, 1}}}}
		at := core.Time(id)
		list := []core.Event{{At: at, Kind: core.JobSubmitted, Job: id, Spec: j}}
		if id%2 == 0 {
			list = append(list,
				core.Event{At: at, Kind: core.PartPlanned, Job: id, Epoch: 1, N: 1, Min: 1, Max: 4,
					Procs: core.ProcSet{{Lo: int32(id - 1), Hi: int32(id)}}},
				core.Event{At: at, Kind: core.JobBecame, Job: id, From: core.Submitted, To: core.Selected},
				core.Event{At: at, Kind: core.JobBecame, Job: id, From: core.Selected, To: core.Queued, When: at + 1000},
				core.Event{At: at, Kind: core.JobBecame, Job: id, Epoch: 1, From: core.Queued, To: core.Running},
				core.Event{At: at + 1, Kind: core.JobProgressed, Job: id, Epoch: 1, Done: 0.1})
		} else {
			list = append(list, core.Event{At: at, Kind: core.JobEnqueued, Job: id})
		}
		for i := range list {
			if list[i].At > at {
				list[i].At = at
			}
			if err := w.ApplyEvent(&list[i]); err != nil {
				b.Fatal(err)
			}
		}
	}
	return spec, w
}

func BenchmarkSnapshot(b *testing.B) {
	_, w := benchmarkWorld(b, 10000)
	for b.Loop() {
		shot, err := w.EncodeSnapshot()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(shot)), "bytes")
	}
}

func BenchmarkRestore(b *testing.B) {
	spec, w := benchmarkWorld(b, 10000)
	shot, err := w.EncodeSnapshot()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := RestoreSnapshot(spec, shot); err != nil {
			b.Fatal(err)
		}
	}
}
