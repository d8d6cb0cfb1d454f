package broker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// treeOf is a folder in the depot with a program and what it wrote.
func treeOf(t *testing.T, d *depot.Store, program, state string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "prog.sh"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	if state != "" {
		if err := os.WriteFile(filepath.Join(dir, "state"), []byte(state), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	id, _, _, err := depot.PushFolder(t.Context(), dir, d, depot.PushOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(id)
}

// A cluster that ran a job once must not decide what runs at the next one.
func TestWhatNobodyOrderedMovesOnlyWithTheProgramThatWasSubmitted(t *testing.T) {
	const good, evil = "#!/bin/sh\necho work\n", "#!/bin/sh\necho planted\n"
	for name, c := range map[string]struct {
		program   string
		lost      bool // the attempt is lost after a checkpoint; else it leaves with one
		ordered   bool
		untrusted bool
		same      bool // the next attempt is at the same cluster
		uses      bool
	}{
		"planted, left":                  {program: evil},
		"planted, saved and lost":        {program: evil, lost: true},
		"as submitted, left":             {program: good, uses: true},
		"as submitted, saved and lost":   {program: good, lost: true, uses: true},
		"changed, ordered":               {program: evil, ordered: true, uses: true},
		"changed, at the same cluster":   {program: evil, same: true, uses: true},
		"ordered, cluster without trust": {program: good, ordered: true, untrusted: true},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := depot.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			g := newGridWith(t, d)
			g.kill()
			g.untrusted = c.untrusted
			g.up()
			on := []string{"a", "b"}
			if c.same {
				on = on[:1]
			}
			ids, err := g.broker().SubmitJob(t.Context(), complete(jobfile.Job{On: on, StartOn: "a", Workdir: "/w", Retries: 3}),
				treeOf(t, d, good, ""))
			if err != nil {
				t.Fatal(err)
			}
			id := ids[0]
			a := g.next()
			a.run()
			g.until(id, core.Running)
			// it may say anything
			saved := &wire.Saved{Method: "signal", Work: treeOf(t, d, c.program, "half done"), Ordered: true, Cluster: "b"}
			switch {
			case c.ordered:
				go func() { _, _ = g.broker().MigrateJob(t.Context(), "1", "b") }()
				a.order(t, wire.Stop)
				a.say(wire.Message{Kind: wire.Left, Saved: saved})
			case !c.same:
				a.untilAcknowledged(t)
				g.kill()
				g.removed = true // so that it goes on at the other
				g.up()
				a.connect()
				fallthrough
			default:
				if c.lost {
					a.say(wire.Message{Kind: wire.Checkpoint, Saved: saved})
					a.say(wire.Message{Kind: wire.Lost, Why: "the test says so"})
				} else {
					a.say(wire.Message{Kind: wire.Left, Saved: saved})
				}
			}
			b := g.next()
			if (b.Cluster == "a") != c.same || len(b.Saved) > 0 != c.uses {
				t.Fatalf("it goes on at %s with %+v", b.Cluster, b.Saved)
			}
			if c.uses && (b.Saved[0].Cluster != "a" || b.Saved[0].Ordered != c.ordered) {
				t.Errorf("it goes on with %+v", b.Saved[0])
			}
			b.run()
			b.end(0)
			g.until(id, core.Done)
			said := 0
			for _, e := range g.explained(id, "checkpoint") {
				if strings.Contains(e.Choice, "is not used on b") {
					said++
				}
			}
			if said > 0 == c.uses {
				t.Errorf("that it is not used is said %d times", said)
			}
		})
	}
}
