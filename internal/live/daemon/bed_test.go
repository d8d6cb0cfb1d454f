package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint/sandbox/sandboxtest"
	"github.com/godwit-hpc/godwit/internal/live/config"
	"github.com/godwit-hpc/godwit/internal/live/daemon"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/live/store/sqlite"
	"github.com/godwit-hpc/godwit/internal/live/store/storetest"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// binary is the godwit binary, for agents; the sandbox lies beside it.
var binary string

// roles are what this program is in processes that tests start besides the broker.
var roles = map[string]func() int{}

func TestMain(m *testing.M) {
	if role := roles[os.Getenv("GODWIT_TEST_ROLE")]; role != nil {
		os.Exit(role())
	}
	if dir := os.Getenv(sharedSetting); dir != "" {
		os.Exit(sharedMain(dir))
	}
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "godwit-daemon-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "godwit")
	if out, err := buildCommand().CombinedOutput(); err != nil {
		fmt.Printf("building the binary: %v\n%s", err, out)
		return 1
	}
	sandbox, err := sandboxtest.BuiltBinary()
	if err == nil {
		err = os.Symlink(sandbox, filepath.Join(dir, "godwit-sandbox"))
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return m.Run()
}

// buildCommand builds the binary as `make build` does: static.
func buildCommand() *exec.Cmd {
	c := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "../../../cmd/godwit")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	return c
}

// bed is a broker of the test's own.
type bed struct {
	testing.TB
	dir    string
	client *api.Client
	stop   func() error
	far    string // folder of the cluster far, which is another machine to the broker
}

// up starts a broker with these settings in a new folder.
func up(t testing.TB, settings string) *bed {
	t.Helper()
	b := &bed{TB: t, dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(b.dir, "config.yaml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.down()
		checkReplay(t, filepath.Join(b.dir, "state"))
	})
	b.start()
	return b
}

// checkReplay holds the records of jobs and workflows that a broker left against its log.
func checkReplay(t testing.TB, state string) {
	t.Helper()
	var s *sqlite.Store
	var err error
	// A broker that was killed, or told to end, may hold its store a little longer.
	clocktest.WaitFor(t, "the end of the broker", func() bool {
		s, err = sqlite.Open(context.Background(), filepath.Join(state, "godwit.db"))
		return !errors.Is(err, store.ErrLocked)
	})
	if err != nil {
		t.Error(err)
		return
	}
	jobs, flows := storetest.CheckJobReplay(t, s), storetest.CheckFlowReplay(t, s)
	t.Logf("%d jobs and %d workflows are as the log says", jobs, flows)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// on is the same broker, complaining to a part of the test.
func (b *bed) on(t *testing.T) *bed { return &bed{TB: t, dir: b.dir, client: b.client} }

// reached waits until all clusters have said what they consist of. The broker goes on
// without one that takes longer than a few seconds, and then believes what it cannot ask.
func (b *bed) reached() *bed {
	b.Helper()
	// Where all cores are busy it takes minutes to bring our programs to a cluster over SSH;
	// each answer makes the broker ask the clusters.
	seldom := clocktest.PollLoop{Limit: 8 * time.Minute, Pause: 250 * time.Millisecond}
	var list []api.Cluster
	seldom.WaitFor(b, "all clusters to be reached", func() bool {
		var err error
		if list, err = b.client.ListClusters(context.Background()); err != nil {
			b.Fatal(err)
		}
		return !slices.ContainsFunc(list, func(c api.Cluster) bool { return c.State != "up" || c.Asking })
	}, func() string { return fmt.Sprintf("%+v", list) })
	return b
}

// untilAnswers waits until the broker answers.
func (b *bed) untilAnswers(seen ...func() string) {
	b.Helper()
	var err error
	clocktest.WaitFor(b, "an answer of the broker", func() bool {
		_, err = b.client.PingBroker(context.Background())
		return err == nil
	}, append(seen, func() string { return err.Error() })...)
}

func (b *bed) start() {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- daemon.Run(ctx, daemon.Options{State: filepath.Join(b.dir, "state"),
			Config:  filepath.Join(b.dir, "config.yaml"),
			Version: "test", Agent: []string{binary, "agent"},
			Log:    slog.New(slog.NewTextHandler(b.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
			HangUp: true, Ready: func(socket string, _ *config.Config) { ready <- socket }})
	}()
	select {
	case socket := <-ready:
		b.client = api.DialBroker(socket)
	case err := <-ended:
		cancel()
		b.Fatal(err)
	}
	b.stop = func() error { cancel(); return <-ended }
}

// down ends the broker; jobs run on.
func (b *bed) down() {
	if b.stop == nil {
		return
	}
	b.client.Close()
	if err := b.stop(); err != nil {
		b.Errorf("the broker ended with %v", err)
	}
	b.stop = nil
}

// job fills in what every job has.
func job(argv ...string) jobfile.Job {
	return jobfile.Job{Name: "test", Argv: argv, Min: 1, Max: 1, Retries: jobfile.DefaultRetries,
		Confidence: jobfile.DefaultConfidence,
		Checkpoint: jobfile.Checkpoint{Method: "auto", Every: jobfile.Never},
		Env:        map[string]string{"PATH": os.Getenv("PATH"), "HOME": os.Getenv("HOME")}}
}

func (b *bed) submit(spec jobfile.Job) string {
	b.Helper()
	s := api.Submit{Job: spec}
	if spec.Workdir != "" {
		id, _, _, err := depot.PushFolder(context.Background(), spec.Workdir,
			depot.NewClient(b.client.HTTP, api.Base+"/v1/depot"), depot.PushOptions{})
		if err != nil {
			b.Fatal(err)
		}
		s.Work = string(id)
	}
	ids, err := b.client.SubmitJob(context.Background(), &s)
	if err != nil {
		b.Fatal(err)
	}
	return fmt.Sprint(ids.IDs[0])
}

// until watches a job until it is as wanted.
func (b *bed) until(id string, ok func(*api.Job) bool) api.Job {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	var last api.Job
	err := b.client.WatchJob(ctx, id, func(l *api.Live) error {
		last = l.Job
		if ok(&last) {
			cancel()
			return context.Canceled
		}
		return nil
	})
	if !ok(&last) {
		b.Fatalf("job %s is %s (%s): %v", id, last.State, last.Why, err)
	}
	return last
}

func running(j *api.Job) bool { return j.State == core.Running }

// end waits for the end of a job; also until its results are home.
func (b *bed) end(id string) api.Job {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	var last api.Job
	if err := b.client.WatchJob(ctx, id, func(l *api.Live) error { last = l.Job; return nil }); err != nil {
		b.Fatal(err)
	}
	return last
}

func (b *bed) output(id string, stream int) string {
	b.Helper()
	var out bytes.Buffer
	if _, err := b.client.CopyLogs(context.Background(), id, stream, 0, false, &out); err != nil {
		b.Fatal(err)
	}
	return out.String()
}

const twoClusters = `
clusters:
  - {name: a, cpus: [0], slots: 8}
  - {name: b, cpus: [1], slots: 8}
intervals: {sample: 200ms}
`
