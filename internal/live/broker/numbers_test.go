package broker_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store/memory"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// ended runs a job that writes a secret and ends.
func (g *grid) ended(output string) core.JobID {
	id := g.submit(jobfile.Job{})
	a := g.next()
	a.run()
	if output != "" {
		a.say(wire.Message{Kind: wire.Output, Stream: 1, Data: []byte(output)})
	}
	a.end(0)
	g.until(id, core.Done)
	return id
}

func TestAStoreThatBeginsAnewGivesNoNumberTwice(t *testing.T) {
	g := newGrid(t)
	first := g.ended("secret")
	silent := g.ended("") // it leaves no log that would tell
	g.kill()
	g.store = memory.New() // the old one was moved away
	g.up()
	again := g.ended("")
	if again <= first || again <= silent {
		t.Errorf("job %d of the new store has a number that the old one gave (%d, %d)", again, first, silent)
	}
	if got := g.logs(again); got != "" {
		t.Errorf("it is shown %q", got)
	}
}

func TestNumbersGoOnWithoutGapsAfterARestart(t *testing.T) {
	g := newGrid(t)
	first := g.ended("x")
	g.kill()
	g.up()
	if next := g.ended("y"); next != first+1 {
		t.Errorf("after job %d comes job %d", first, next)
	}
}

func TestAnOlderCopyOfTheStoreGivesNoNumberTwice(t *testing.T) {
	g := newGrid(t)
	g.ended("")
	g.kill()
	// Jobs that ran after the copy was made left their logs.
	if err := os.MkdirAll(filepath.Join(g.state, "logs", "40"), 0o700); err != nil {
		t.Fatal(err)
	}
	g.up()
	if next := g.ended(""); next <= 40 {
		t.Errorf("job %d may be one that ran already", next)
	}
}

func TestADamagedReservationIsSaid(t *testing.T) {
	g := newGrid(t)
	g.ended("")
	g.kill()
	if err := os.WriteFile(filepath.Join(g.state, "next-job.json"), []byte(`{"next":-3}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := g.tryUp(); err == nil {
		t.Error("a broker starts with it")
	}
}
