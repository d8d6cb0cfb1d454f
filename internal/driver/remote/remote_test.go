package remote_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/batch"
	"github.com/godwit-hpc/godwit/internal/driver/drivertest"
	"github.com/godwit-hpc/godwit/internal/driver/remote"
	"github.com/godwit-hpc/godwit/internal/driver/remote/sshdtest"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	sshd := sshdtest.Start(t)
	drivertest.Run(t, func(t *testing.T) drivertest.World { return newWorld(t, sshd) })
}

func TestWhateverBreaksNothingIsLostOrDoubled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		cut  func(*world)
	}{
		{"TheConnection", func(w *world) { w.sshd.CutConnections() }},
		{"TheClient", func(w *world) { killAll(w.clients(), syscall.SIGKILL) }},
		{"TheOutpost", func(w *world) { killAll(w.outposts(), syscall.SIGKILL) }},
		{"TheNetworkUnnoticed", func(w *world) { w.sshd.FreezeConnections() }},
		{"TheOutpostUnnoticed", func(w *world) { killAll(w.outposts(), syscall.SIGSTOP) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // all of these wait most of the time
			sshd := sshdtest.Start(t)
			w := newWorld(t, sshd)
			d, stays, ends := w.open(), w.AttemptFor(drivertest.Stays),
				w.AttemptFromLine(`echo began >> "$NOTES"; while ! test -e "$NOTES".go; do sleep 0.05; done; exit 7`)
			for _, a := range []*wire.Attempt{stays, ends} {
				if err := d.StartAttempt(t.Context(), a); err != nil {
					t.Fatal(err)
				}
			}
			clocktest.WaitFor(t, "both to run", func() bool { return w.StartCount(stays) == 1 && w.StartCount(ends) == 1 })
			began := time.Now()
			c.cut(w)
			if err := os.WriteFile(w.NotesFile(ends)+".go", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			// A request whose fate is not known is repeated until it is.
			waits := w.AttemptFor(drivertest.Stays)
			if err := d.StartAttempt(t.Context(), waits); err != nil && !errors.Is(err, driver.ErrAway) {
				t.Error(err)
			}
			clocktest.WaitFor(t, "the cluster to be within reach",
				func() bool { _, err := d.MeasureLoad(t.Context()); return err == nil })
			t.Logf("within reach again after %v", time.Since(began))
			if err := d.StartAttempt(t.Context(), waits); err != nil {
				t.Error(err)
			}
			clocktest.WaitFor(t, "the end to be heard", func() bool { return heard(w, ends, wire.Ended) == 1 })
			clocktest.WaitFor(t, "the last to begin", func() bool { return w.StartCount(waits) == 1 })
			for _, a := range []*wire.Attempt{stays, ends, waits} {
				if err := d.ReleaseAttempt(t.Context(), idOf(a)); err != nil {
					t.Error(err)
				}
				if w.StartCount(a) != 1 || w.LivingProcesses(a) > 0 || heard(w, a, wire.Lost) > 0 {
					t.Errorf("job %d began %d times, %d live, lost %d times", a.Job, w.StartCount(a), w.LivingProcesses(a),
						heard(w, a, wire.Lost))
				}
			}
			sshd.CutConnections() // what is frozen
		})
	}
}

func killAll(pids []int, sig syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, sig)
	}
}

func TestWhileItIsOutOfReachTheAnswerComesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sshdtest.Start(t))
	d, known, unknown := w.open(), w.AttemptFor(drivertest.Stays), w.AttemptFor(drivertest.Stays)
	if err := d.StartAttempt(t.Context(), known); err != nil {
		t.Fatal(err)
	}
	w.sshd.SetDown(true)
	clocktest.WaitFor(t, "it to be noticed",
		func() bool { _, err := d.MeasureLoad(t.Context()); return errors.Is(err, driver.ErrAway) })
	began := time.Now()
	if err := d.StartAttempt(t.Context(), unknown); !errors.Is(err, driver.ErrAway) ||
		!strings.Contains(err.Error(), "cluster far") {
		t.Errorf("start: %v", err)
	}
	if err := d.ReleaseAttempt(t.Context(), idOf(unknown)); err != nil {
		t.Errorf("an attempt that was never sent cannot be given up: %v", err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("that took %v", took)
	}
	// What may be known over there is not given up, also not by the next driver.
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if err := d.StartAttempt(ctx, known); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("start of what is known: %v", err)
		}
		if err := d.ReleaseAttempt(ctx, idOf(known)); err == nil || errors.Is(err, driver.ErrAway) {
			t.Errorf("release of what is known: %v", err)
		}
		cancel()
		w.Close()
		var err error
		if d, err = remote.New(w.opt); err != nil {
			t.Fatal(err)
		}
		w.mu.Lock()
		w.driver = d
		w.mu.Unlock()
	}
	released := make(chan error)
	go func() { released <- d.ReleaseAttempt(t.Context(), idOf(known)) }()
	w.sshd.SetDown(false)
	if err := <-released; err != nil {
		t.Error(err)
	}
	if n := w.LivingProcesses(known) + w.StartCount(unknown); n > 0 {
		t.Errorf("%d live", n)
	}
}

func TestTwoBrokersBringTheSameBinariesAtOnce(t *testing.T) {
	t.Parallel()
	sshd := sshdtest.Start(t)
	shared := filepath.Join(sshd.Dir, "alone", "shared")
	var all sync.WaitGroup
	worlds := make([]*world, 3)
	for i := range worlds {
		worlds[i] = newWorld(t, sshd)
		worlds[i].notAlone = true
		worlds[i].opt.Settings.Dir, worlds[i].opt.Owner = shared, "owner"+string(rune('a'+i))
	}
	for _, w := range worlds {
		all.Go(func() {
			d, a := w.open(), w.AttemptFor(drivertest.Ends)
			if err := d.StartAttempt(t.Context(), a); err != nil {
				t.Error(err)
			}
			clocktest.WaitFor(t, "the end to be heard", func() bool { return heard(w, a, wire.Ended) == 1 })
		})
	}
	all.Wait()
	files, err := filepath.Glob(filepath.Join(shared, "bin", "*", "*"))
	hidden, _ := filepath.Glob(filepath.Join(shared, "bin", "*", ".*"))
	if err != nil || len(files) != 1 || len(hidden) != 0 {
		t.Errorf("%v %v %v are left", files, hidden, err)
	}
}

// What was brought for another cluster, or another version, is not brought again.
func TestABinaryThatIsThereAlreadyIsNotBroughtAgain(t *testing.T) {
	sshd := sshdtest.Start(t)
	first, second := newWorld(t, sshd), newWorld(t, sshd)
	first.opt.Settings.Dir = filepath.Join(sshd.Dir, "sites", "a")
	second.opt.Settings.Dir = filepath.Join(sshd.Dir, "sites", "b")
	first.open()
	damaged := filepath.Join(sshd.Dir, "sites", "0", "bin", "0123456789abcdef")
	if err := os.MkdirAll(damaged, 0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(damaged, "godwit"), make([]byte, info.Size()), 0o600); err != nil {
		t.Fatal(err)
	}
	second.opt.SSHCommand = []string{"sh", "-c", `case "$*" in *gzip*) exit 1;; esac; exec ssh "$@"`, "ssh"}
	second.open()
}

func TestTheLaterDriverTakesOver(t *testing.T) {
	w := newWorld(t, sshdtest.Start(t))
	first := w.open()
	a := w.AttemptFor(drivertest.Stays)
	if err := first.StartAttempt(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	w.driver = nil // it is not closed: its broker hangs
	defer func() { _ = first.Close() }()
	w.opt.Sent = "" // which is the other's
	w.opt.FirstPause = time.Hour
	second := w.open()
	clocktest.WaitFor(t, "the later one to find what runs", func() bool {
		found, err := second.FindAttempts(t.Context())
		return err == nil && slices.Contains(found, driver.Found{ID: idOf(a), Alive: true})
	})
	_ = first.Close()
	if err := second.ReleaseAttempt(t.Context(), idOf(a)); err != nil {
		t.Error(err)
	}
}

func TestWhatSshSaysIsExplained(t *testing.T) {
	sshd := sshdtest.Start(t)
	for _, c := range []struct {
		name    string
		options []string
		host    string
		want    []string
	}{
		{"Password", sshd.StrangerOptions(), sshd.Host(), []string{"cluster far", "password", "ssh-agent", "ssh ", "-fNM"}},
		{"HostKey", sshd.UnknownHostOptions(), sshd.Host(), []string{"cluster far", "host key", "once by hand"}},
		{"NoSuchHost", []string{"-F", "none"}, "no.such.host.invalid", []string{"cluster far", "no.such.host.invalid"}},
		{"NobodyListens", []string{"-F", "none", "-p", "1"}, "127.0.0.1", []string{"cluster far", "refused"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, sshd)
			w.opt.SSHOptions, w.opt.SSH, w.opt.Control = c.options, c.host, w.dir
			d, err := remote.New(w.opt)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = d.Close() }()
			_, err = d.MeasureLoad(t.Context())
			if !errors.Is(err, driver.ErrAway) {
				t.Fatalf("got %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("not one line: %q", err)
			}
			t.Log(err)
		})
	}
}

func TestAConnectionThatTheUserOpenedIsUsed(t *testing.T) {
	w := newWorld(t, sshdtest.Start(t))
	control, err := os.MkdirTemp("", "gwc")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(control) }()
	w.opt.Control = control
	w.opt.SSHOptions = w.sshd.StrangerOptions()
	d, err := remote.New(w.opt)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.MeasureLoad(t.Context())
	_ = d.Close()
	_, path, ok := strings.Cut(err.Error(), "-S ")
	path, _, ok2 := strings.Cut(path, " ")
	if !ok || !ok2 {
		t.Fatal(err)
	}
	master := sshMaster(t, w.sshd, path)
	defer master()
	w.open()
	// That which was refused may still be on its way out.
	clocktest.WaitFor(t, "one connection to be left", func() bool { return w.sshd.ConnectionCount() == 1 })
	w.Close()
	w.opt.SSHOptions, w.opt.Control = w.sshd.ClientOptions(), ""
}

func TestWhatAShellSaysBeforeDoesNotDisturb(t *testing.T) {
	w := newWorld(t, sshdtest.Start(t))
	w.opt.SSHCommand = []string{"sh", "-c",
		`printf "Welcome to the cluster\nquota: 3 of 5 GB\n\033[1mprompt> "; exec ssh "$@"`, "ssh"}
	w.open()
}

func TestAFolderWithALongNameIsNoHindrance(t *testing.T) {
	w := newWorld(t, sshdtest.Start(t))
	w.settle(filepath.Join(w.opt.Settings.Dir, strings.Repeat("long name ", 12), strings.Repeat("x", 60)))
	d, a := w.open(), w.AttemptFor(drivertest.Ends)
	if err := d.StartAttempt(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	clocktest.WaitFor(t, "the end to be heard", func() bool { return heard(w, a, wire.Ended) == 1 })
}

func TestWithoutAFolderItIsBelowTheHomeFolder(t *testing.T) {
	w := newWorld(t, sshdtest.Start(t))
	home := filepath.Join(w.sshd.Home, ".local/state/godwit/outposts/far")
	w.settle(home)
	w.opt.Settings.Dir = ""
	w.open()
	if _, err := os.Stat(filepath.Join(home, "me", "attempts")); err != nil {
		t.Error(err)
	}
	w.Close()
	w.opt.Settings.Dir = home
}

func TestTheSurveySaysWhatMachineItIs(t *testing.T) {
	w := newWorld(t, sshdtest.Start(t))
	d := w.open()
	s, err := d.SurveyHosts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.TotalProcs() < 1 || len(s.Hosts) != 1 || s.Hosts[0].Memory < 1<<26 || s.Hosts[0].Speed <= 0 ||
		!slices.Contains(s.Methods, "restart") {
		t.Errorf("%+v", s)
	}
	if wait, err := d.EstimateWait(t.Context(), driver.Need{Procs: 1}); err != nil || !wait.Known || wait.Seconds != 0 {
		t.Errorf("%+v %v", wait, err)
	}
	if why, err := d.ExplainWait(t.Context(), driver.ID{Job: 1, Epoch: 1}); err != nil || why != "" {
		t.Errorf("%q %v", why, err)
	}
}

// Who uses a manager's queue from here has to know which jobs there are its own.
func TestTheOutpostSaysHowItsJobsAreNamed(t *testing.T) {
	w := newWorld(t, sshdtest.Start(t))
	w.opt.Settings.Kind = "slurm"
	d := w.open()
	if prefix := d.JobPrefix(); batch.DriverPrefix(prefix) != prefix || prefix == "" {
		t.Errorf("%q", prefix)
	}
}

func TestSettingsThatCannotBeAreRefused(t *testing.T) {
	for _, change := range []func(*remote.Options){
		func(o *remote.Options) { o.Cluster = "../x" },
		func(o *remote.Options) { o.SSH = "-oProxyCommand=x" },
		func(o *remote.Options) { o.Settings.Dir = "it's" },
		func(o *remote.Options) { o.Settings.Dir = "a\nb" },
		func(o *remote.Options) { o.Owner = "a b" },
	} {
		o := remote.Options{Cluster: "far", SSH: "nobody"}
		change(&o)
		if d, err := remote.New(o); err == nil {
			_ = d.Close()
			t.Errorf("%+v is taken", o)
		}
	}
}
