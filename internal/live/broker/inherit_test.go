package broker_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// pushed is the tree of a folder with these files.
func pushed(t *testing.T, d *depot.Store, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	id, _, _, err := depot.PushFolder(t.Context(), dir, d, depot.PushOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(id)
}

func (g *grid) filesOf(work string) map[string]bool {
	g.t.Helper()
	tree, err := depot.LoadTree(g.t.Context(), g.depot, depot.ID(work))
	if err != nil {
		g.t.Fatal(err)
	}
	has := map[string]bool{}
	for _, e := range tree.Entries {
		has[e.Path] = true
	}
	return has
}

func TestWhoeverWaitsGetsWhatAllOfThemWroteThoughTheyComeHomeAtOnce(t *testing.T) {
	g := newDepotGrid(t)
	home, work := t.TempDir(), pushed(t, g.depot, "in")
	submit := func(spec jobfile.Job) core.JobID {
		t.Helper()
		return g.submitIn(home, work, complete(spec))[0]
	}
	const many = 4
	var first []core.JobID
	var results []string
	for i := range many {
		first = append(first, submit(jobfile.Job{Stdout: fmt.Sprintf("log%d", i)}))
		results = append(results, pushed(t, g.depot, "in", fmt.Sprintf("out%d", i)))
	}
	second := submit(jobfile.Job{After: after(jobfile.WentWell, first...)})
	third := submit(jobfile.Job{After: after(jobfile.WentWell, second)})
	var running []*attempt
	for range many {
		a := g.next()
		a.run()
		running = append(running, a)
	}
	for _, a := range running { // in whatever order they were started
		a.say(wire.Message{Kind: wire.Ended, Result: results[slices.Index(first, a.Job)]})
	}
	for _, id := range []core.JobID{second, third} {
		a := g.next()
		has := g.filesOf(a.Work)
		for i := range many {
			if a.Job != id || !has[fmt.Sprintf("out%d", i)] || !has[fmt.Sprintf("log%d", i)] {
				t.Errorf("job %d begins with %v", a.Job, has)
			}
		}
		a.run()
		a.end(0)
		g.until(id, core.Done)
	}
	if text, err := os.ReadFile(filepath.Join(home, "out2")); err != nil || string(text) != "out2" {
		t.Errorf("at home: %q, %v", text, err)
	}
	g.arrayInherits(submit, results[3])
	// One that is submitted with an older folder just after they came home.
	late := submit(jobfile.Job{After: after(jobfile.Over, first[0])})
	if a := g.next(); a.Job != late || !g.filesOf(a.Work)["out0"] {
		t.Errorf("job %d begins with %v", a.Job, g.filesOf(a.Work))
	}
}

// arrayInherits: of an array that waits for two jobs all have what the first of
// these wrote, although its first job is cancelled and the broker killed before
// the second ends.
func (g *grid) arrayInherits(submit func(jobfile.Job) core.JobID, result string) {
	g.t.Helper()
	one, other := submit(jobfile.Job{}), submit(jobfile.Job{})
	array := submit(jobfile.Job{After: after(jobfile.Over, one, other),
		Array: jobfile.ArrayRange{First: 1, Last: 3, Step: 1}})
	a, b := g.next(), g.next()
	a.run()
	b.run()
	if a.Job != one {
		a, b = b, a
	}
	a.say(wire.Message{Kind: wire.Ended, Result: result})
	g.untilOver(one)
	if _, err := g.broker().CancelJob(g.t.Context(), fmt.Sprint(array)); err != nil {
		g.t.Fatal(err)
	}
	b.cut()
	g.kill()
	g.up()
	b.connect()
	b.end(0)
	for range 2 {
		c := g.next()
		if !g.filesOf(c.Work)["out3"] {
			g.t.Errorf("job %d begins with %v", c.Job, g.filesOf(c.Work))
		}
		c.run()
		c.end(0)
		g.until(c.Job, core.Done)
	}
}

// However many jobs wait for one: all get what it wrote, and few records are written at once.
func TestVeryManyJobsThatWaitForOneGetWhatItWroteAFewAtATime(t *testing.T) {
	g := newDepotGrid(t)
	rows := g.countRows()
	home, work := t.TempDir(), pushed(t, g.depot, "in")
	submit := func(spec jobfile.Job) core.JobID {
		t.Helper()
		return g.submitIn(home, work, complete(spec))[0]
	}
	first, waiters := submit(jobfile.Job{}), map[core.JobID]bool{}
	never := submit(jobfile.Job{Begin: 365 * 24 * time.Hour}) // holds them all, so that they can be looked at
	for range 1700 {
		waiters[submit(jobfile.Job{After: after(jobfile.Over, first, never)})] = true
	}
	rows.largest.Store(0)
	a := g.next()
	a.run()
	a.say(wire.Message{Kind: wire.Ended, Result: pushed(t, g.depot, "in", "out")})
	g.untilOver(first)
	if n := rows.largest.Load(); n > 600 {
		t.Errorf("%d records were written at once", n)
	}
	state, err := g.store.LoadState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for i := range state.Jobs {
		if rec := &state.Jobs[i]; waiters[rec.ID] {
			if seen++; rec.Work == work {
				t.Fatalf("job %d has not got what the first one wrote", rec.ID)
			}
		}
	}
	if seen != len(waiters) || !g.filesOf(g.view(slices.Max(slices.Collect(maps.Keys(waiters)))).Work)["out"] {
		t.Errorf("%d of %d jobs wait", seen, len(waiters))
	}
}
