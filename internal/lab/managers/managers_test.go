package managers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/lab"
	"github.com/godwit-hpc/godwit/internal/lab/place/placetest"
)

func TestMain(m *testing.M) {
	if code, ours := lab.RunRole(os.Args[1:]); ours {
		os.Exit(code)
	}
	RegisterAll()
	os.Exit(m.Run())
}

// bed makes a lab with a Slurm cluster, a Grid Engine cell and a plain machine.
func bed(t *testing.T) *lab.Lab {
	t.Helper()
	if err := lab.CheckAble(); err != nil {
		t.Skip(err)
	}
	base, err := os.MkdirTemp("", "godwit-labs") // users look into it
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GODWIT_LABS", base)
	plan := &lab.Plan{Name: fmt.Sprintf("m%d", os.Getpid()), Users: []string{"alice"}, Clusters: []lab.ClusterPlan{
		{Name: "leeds", Manager: "slurm", Hosts: 2, Cores: 2},
		{Name: "york", Manager: "gridengine", Hosts: 1, Cores: 2},
		{Name: "attic", Manager: lab.None, Hosts: 1, Cores: 1},
	}}
	t.Cleanup(func() {
		err := lab.RemoveLab(context.Background(), plan.Name)
		if err = errors.Join(err, os.RemoveAll(base)); err != nil {
			t.Error(err)
		}
	})
	l, err := lab.CreateLab(t.Context(), plan, lab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// login runs a command as a broker on the head does: by SSH, as the settings of
// a cluster say.
func login(t *testing.T, l *lab.Lab, s lab.Settings, command string) (string, error) {
	t.Helper()
	argv := append(append([]string{"ssh"}, s.SSHOptions...), s.SSH, command)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := l.Head.Command(ctx, argv...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func settings(t *testing.T, l *lab.Lab) map[string]lab.Settings {
	t.Helper()
	by := map[string]lab.Settings{}
	for _, c := range l.Clusters {
		for _, s := range all[c.Manager].BrokerSettings(l, c, "alice") {
			by[s.Name] = s
		}
	}
	return by
}

// nothingDown makes sure that everything runs that should.
func nothingDown(t *testing.T, l *lab.Lab) {
	t.Helper()
	for _, c := range l.Clusters {
		if down, err := ListDown(t.Context(), l, c); err != nil || len(down) > 0 {
			t.Errorf("of %s are down: %q, %v", c.Name, down, err)
		}
	}
}

// commandsWork makes sure that users need no settings.
func commandsWork(t *testing.T, l *lab.Lab) {
	t.Helper()
	for name, command := range map[string]string{"leeds0": "sinfo", "leeds1": "sinfo", "york0": "qstat -f",
		"york1": "qstat -f"} {
		h, err := l.FindHost(name)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := h.CommandAs(t.Context(), "alice", "sh", "-c", command).CombinedOutput(); err != nil {
			t.Errorf("%s on %s: %v: %s", command, name, err, out)
		}
	}
}

func TestALabHasClustersThatRunJobs(t *testing.T) {
	l := bed(t)
	by := settings(t, l)
	home := l.Users[0].Home
	wrote := func(name, want string) func() bool {
		return func() bool { b, _ := os.ReadFile(filepath.Join(home, name)); return string(b) == want }
	}
	for name, want := range map[string]string{"leeds": "leeds0", "york": "york0", "attic1": "attic1"} {
		if out, err := login(t, l, by[name], "id -un; hostname"); err != nil || out != "alice\n"+want {
			t.Errorf("on %s: %v: %s", name, err, out)
		}
	}
	if out, err := login(t, l, by["leeds"], "sbatch -N2 -o leeds.out --wrap 'srun -l hostname | sort'"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := login(t, l, by["york"], by["york"].Commands+
		"/qsub -cwd -b y -j y -o york.out -pe mpi 2 hostname"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	clocktest.WaitFor(t, "the job in leeds", wrote("leeds.out", "0: leeds1\n1: leeds2\n"))
	clocktest.WaitFor(t, "the job in york", wrote("york.out", "york1\n"))

	nothingDown(t, l)
	commandsWork(t, l)
	t.Run("daemons that crashed are seen and started again", func(t *testing.T) {
		leeds := l.Clusters[0]
		out, err := leeds.Head.Command(t.Context(), "sh", "-c", "kill -9 $(pidof slurmctld munged sshd)").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		want := []string{"slurmctld on leeds0", "munged on leeds0", "sshd on leeds0"}
		clocktest.WaitFor(t, "their end", func() bool {
			down, err := ListDown(t.Context(), l, leeds)
			return err == nil && slices.Equal(down, want)
		})
		if err := all[leeds.Manager].StartManager(t.Context(), l, leeds); err != nil {
			t.Fatal(err)
		}
		nothingDown(t, l)
	})

	for _, name := range []string{"leeds0", "leeds1", "york0", "york1", "attic1"} {
		h, err := l.FindHost(name)
		if err == nil {
			err = errors.Join(h.CrashHost(t.Context()), h.BootHost(t.Context()))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	clocktest.WaitFor(t, "leeds after its crash", func() bool {
		out, _ := login(t, l, by["leeds"], "srun -N2 hostname | sort")
		return out == "leeds1\nleeds2"
	})
	if out, err := login(t, l, by["york"], by["york"].Commands+"/qsub -cwd -b y -j y -o again.out hostname"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	clocktest.WaitFor(t, "york after its crash", wrote("again.out", "york1\n"))
	nothingDown(t, l)
	commandsWork(t, l)
	if out, err := login(t, l, by["attic1"], "hostname"); err != nil || out != "attic1" {
		t.Errorf("after its crash: %v: %s", err, out)
	}
}

// SSH, Slurm and Grid Engine all look users up by their names.
func TestAMachineMayHaveAnAccountWithTheNameOfAUser(t *testing.T) {
	placetest.RunWithAccounts(t, "^TestALabHasClustersThatRunJobs$", "alice")
}
