package broker_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// restart starts another broker on the store, with the clusters as they are now.
func (g *grid) restart() {
	g.kill()
	g.up()
}

func TestMemoryThatNoHostHasIsRefusedAndNamed(t *testing.T) {
	g := newGrid(t)
	g.a.mem = 16 << 30
	g.restart()
	_, err := g.broker().SubmitJob(t.Context(), complete(jobfile.Job{Memory: 500 << 30, On: []string{"a"}}), "")
	if !badinput.Is(err) || !strings.HasPrefix(err.Error(), "memory: ") ||
		!strings.Contains(err.Error(), "the most that a host has is 16 GiB") {
		t.Errorf("refused with %v", err)
	}
	if _, err := g.broker().SubmitJob(t.Context(), complete(jobfile.Job{Memory: 500 << 30}), ""); err != nil {
		t.Errorf("of cluster b nobody knows how much it has: %v", err)
	}
}

func TestHowLongItRanAndItsMemoryAreThoseOfAllAttempts(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{Retries: 1})
	a := g.next()
	a.connect()
	a.say(wire.Message{Kind: wire.Running, Method: "restart", State: &wire.Vitals{Prepared: 20, Chance: -1, Done: -1}})
	a.say(wire.Message{Kind: wire.Lost, Why: "the host died",
		State: &wire.Vitals{Wall: 5, Peak: 3 << 20, Chance: -1, Done: -1}})
	a = g.next()
	a.run()
	a.say(wire.Message{Kind: wire.Ended, Code: 137, Cause: jobfile.OutOfMemory, Why: "out of memory (limit 2 MiB)",
		State: &wire.Vitals{Wall: 2, Peak: 2 << 20, Memory: 1, Chance: -1, Done: -1}})
	v := g.until(id, core.Failed)
	if v.Wall != 7 || v.Peak != 3<<20 || v.Failure != jobfile.OutOfMemory || v.Reason != "out of memory (limit 2 MiB)" {
		t.Errorf("it is %+v", v.Job)
	}
	end := g.explained(id, "end")
	if len(end) != 1 || end[0].Inputs["wall_s"] != 7.0 || end[0].Inputs["peak_memory"] == nil ||
		end[0].Inputs["turnaround_s"] == nil || !strings.HasPrefix(end[0].Why, "out of memory (limit 2 MiB); ") {
		t.Errorf("explained by %+v", end)
	}
}

func TestAWarningOfAnAgentStaysWithTheJob(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{})
	a := g.next()
	a.run()
	for _, kind := range []string{"warning", "method"} {
		a.say(wire.Message{Kind: wire.Note,
			Entry: &wire.Entry{Kind: kind, Choice: "the sandbox changed what the program did", Why: "it tried to write /x"}})
	}
	a.end(0)
	v := g.until(id, core.Done)
	if want := []string{"the sandbox changed what the program did: it tried to write /x"}; !slices.Equal(v.Warnings,
		want) {
		t.Errorf("warnings %q", v.Warnings)
	}
	g.restart()
	if v := g.view(id); len(v.Warnings) != 1 {
		t.Errorf("after a restart %q", v.Warnings)
	}
}

func TestJobsThatNeedSlurmRunThereOrAreRefused(t *testing.T) {
	gpu := jobfile.Job{Manager: jobfile.Manager{Kind: jobfile.Slurm, Options: map[string][]string{"gres": {"gpu:1"}}}}
	srun := jobfile.Job{Manager: jobfile.Manager{Kind: jobfile.Slurm, Srun: "job.sh:7"}}
	on := func(j jobfile.Job, name string) *jobfile.Job { j.On = []string{name}; return complete(j) }
	g := newGrid(t)
	inFile := jobfile.Job{Manager: jobfile.Manager{Options: map[string][]string{"gres": {"gpu:a100:1"}}}}
	for want, job := range map[string]jobfile.Job{`accelerators "a100:1"`: inFile, `--gres "gpu:1"`: gpu,
		"no cluster where the job may run is known to have GPUs": gpu, "job.sh:7": srun} {
		if _, err := g.broker().SubmitJob(t.Context(), complete(job), ""); !badinput.Is(err) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("without Slurm: %v", err)
		}
	}
	if _, err := g.broker().SubmitJob(t.Context(), on(gpu, "b"), ""); !badinput.Is(err) {
		t.Errorf("on a cluster without GPUs: %v", err)
	}
	if _, err := g.broker().SubmitJob(t.Context(), on(srun, "b"), ""); err != nil {
		t.Errorf("srun where its user wants it: %v", err)
	}
	if a := g.next(); a.Cluster != "b" {
		t.Errorf("it runs in %s", a.Cluster)
	}
	g = newGrid(t)
	g.a.kind = "slurm over ssh"
	g.restart()
	for _, job := range []jobfile.Job{gpu, srun} {
		g.submit(job)
		if a := g.next(); a.Cluster != "a" {
			t.Errorf("it runs in %s", a.Cluster)
		}
	}
	if _, err := g.broker().SubmitJob(t.Context(), on(gpu, "b"), ""); !badinput.Is(err) {
		t.Errorf("on a cluster without GPUs beside one of Slurm: %v", err)
	}
}
