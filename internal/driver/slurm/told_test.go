package slurm_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/driver/batch/batchtest"
	"github.com/godwit-hpc/godwit/internal/driver/drivertest"
	"github.com/godwit-hpc/godwit/internal/driver/slurm"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// shown is what scontrol says of the job of an attempt.
func shown(t *testing.T, prefix string, a *wire.Attempt) string {
	t.Helper()
	id := strings.TrimSpace(ask(t, "squeue", "--noheader", "--format=%i", "--name="+jobName(t, prefix, a)))
	return " " + ask(t, "scontrol", "--oneliner", "show", "job", id) + " "
}

func ask(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v: %s", argv, err, out)
	}
	return strings.TrimSpace(string(out))
}

// scripted is an attempt of a script for Slurm.
func scripted(w *batchtest.World) *wire.Attempt {
	a := w.AttemptFor(drivertest.Ends)
	a.Procs, a.Spec.Memory = 4, 200<<20
	a.Spec.Manager = jobfile.Manager{Kind: jobfile.Slurm, Threads: 2, PerNode: 1, Options: map[string][]string{
		"partition": {"short"}, "constraint": {"fast"}, "account": {"proj-7"}, "exclusive": {""}, "nice": {"7"},
		"mem-per-cpu": {"102400K"},
		"exclude":     {"n9;reboot"}, "qos": {"$(touch " + filepath.Join(w.Dir, "evil") + ")"}, "comment": {"x --uid=0"},
		"wrap": {"touch " + filepath.Join(w.Dir, "evil")}}}
	return a
}

func told(t *testing.T) {
	batchtest.DoOutside(t, "scontrol", "create", "PartitionName=short", "Nodes=ALL", "MaxTime=INFINITE")
	batchtest.DoOutside(t, "scontrol", "update", "NodeName=n1,n2", "AvailableFeatures=fast", "ActiveFeatures=fast")
	defer batchtest.DoOutside(t, "scontrol", "delete", "PartitionName=short")
	t.Run("AScriptForSlurm", func(t *testing.T) {
		w := newWorld(t, slurm.Options{Options: []string{"--hold"}}, nil)
		d, a := w.OpenBatch(), scripted(w)
		mustStart(t, d, a)
		text := shown(t, d.JobPrefix(), a)
		for _, want := range []string{" Partition=short ", " Features=fast ", " Account=proj-7 ", " Nice=7 ",
			" OverSubscribe=NO ", " CPUs/Task=2 ", " NumTasks=2 ", " NumNodes=2",
			" NtasksPerN:B:S:C=1:", " MinMemoryCPU=100M ", " ExcNodeList=(null) "} {
			if !strings.Contains(text, want) {
				t.Errorf("not%sin %s", want, text)
			}
		}
		if strings.Contains(text, "reboot") || strings.Contains(text, "touch") || strings.Contains(text, "Comment=") {
			t.Error(text)
		}
		if found, _ := filepath.Glob(filepath.Join(w.Dir, "evil*")); len(found) > 0 {
			t.Error("a value was run as a command")
		}
	})
	t.Run("TheSettingsPrevail", func(t *testing.T) {
		w := newWorld(t, slurm.Options{Partition: "batch", Options: []string{"--hold", "--account=ours"}}, nil)
		d, a := w.OpenBatch(), scripted(w)
		mustStart(t, d, a)
		if text := shown(t, d.JobPrefix(), a); !strings.Contains(text, " Partition=batch ") ||
			!strings.Contains(text, " Account=ours ") {
			t.Error(text)
		}
	})
	t.Run("AScriptForGridEngine", func(t *testing.T) {
		w := newWorld(t, slurm.Options{Options: []string{"--hold"}}, nil)
		d, a := w.OpenBatch(), scripted(w)
		a.Spec.Manager.Kind = jobfile.GridEngine
		mustStart(t, d, a)
		if text := shown(t, d.JobPrefix(), a); !strings.Contains(text, " Partition=batch ") ||
			!strings.Contains(text, " NumTasks=4 ") || !strings.Contains(text, " CPUs/Task=1 ") {
			t.Error(text)
		}
	})
	t.Run("ItRunsAsTheScriptSays", func(t *testing.T) {
		w := newWorld(t, slurm.Options{}, nil)
		d := w.OpenBatch()
		a := w.AttemptFromLine(`echo began >> "$NOTES"; srun /bin/sh -c 'echo task-$SLURM_PROCID-on-$SLURMD_NODENAME-with-$SLURM_CPUS_PER_TASK' >> "$NOTES" 2>&1; exit 7`)
		a.Spec.Manager, a.Procs = scripted(w).Spec.Manager, 4
		delete(a.Spec.Manager.Options, "exclusive") // others run
		mustStart(t, d, a)
		w.WaitUntil("the end to be heard", func() bool { return w.CountMessages(a, wire.Ended) == 1 })
		notes := strings.Join(w.ReadNotes(a), " ")
		for _, want := range []string{"task-0-on-n1-with-2", "task-1-on-n2-with-2"} {
			if !strings.Contains(notes, want) {
				t.Errorf("not %q in %q", want, notes)
			}
		}
	})
}
