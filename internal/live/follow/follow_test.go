package follow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a broker with one job that writes to stdout and ends when told.
type fake struct {
	mu        sync.Mutex
	out       string
	over      bool
	cancelled bool
	changed   chan struct{}
	cut       int // so many connections are cut after a few bytes
}

func newFake() *fake { return &fake{changed: make(chan struct{})} }

func (f *fake) set(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fake) job() api.Job {
	j := api.Job{ID: 7, State: core.Running}
	if f.over {
		code := 3
		j.State, j.ExitCode = core.Done, &code
	}
	return j
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !strings.HasPrefix(r.URL.Path, "/v1/jobs/7"):
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error": "job \"8\": no such job", "code": 2}`)
	case strings.HasSuffix(r.URL.Path, "/watch"):
		f.watch(w, r)
	case strings.HasSuffix(r.URL.Path, "/logs"):
		f.logs(w, r)
	case strings.HasSuffix(r.URL.Path, "/cancel"):
		f.set(func() { f.cancelled, f.over = true, true })
		fmt.Fprint(w, "{}")
	default:
		f.mu.Lock()
		defer f.mu.Unlock()
		json.NewEncoder(w).Encode(f.job())
	}
}

func (f *fake) watch(w http.ResponseWriter, r *http.Request) {
	for {
		f.mu.Lock()
		live, changed := api.Live{Job: f.job(), Final: f.over}, f.changed
		live.News = []api.Decision{{Time: api.Time{Time: time.Unix(1, 0)}, Choice: "placed"}}
		f.mu.Unlock()
		if err := json.NewEncoder(w).Encode(live); err != nil || live.Final {
			return
		}
		http.NewResponseController(w).Flush()
		f.mayCut()
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

func (f *fake) mayCut() {
	f.mu.Lock()
	cut := f.cut > 0
	f.cut--
	f.mu.Unlock()
	if cut {
		panic(http.ErrAbortHandler)
	}
}

func (f *fake) logs(w http.ResponseWriter, r *http.Request) {
	at, _ := strconv.Atoi(r.FormValue("offset"))
	for {
		f.mu.Lock()
		text, over, changed := f.out, f.over, f.changed
		f.mu.Unlock()
		if r.FormValue("stream") == "2" {
			text = strings.ToUpper(text)
		}
		for at < len(text) {
			n := min(5, len(text)-at)
			fmt.Fprint(w, text[at:at+n])
			at += n
			http.NewResponseController(w).Flush()
			f.mayCut()
		}
		if over {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// serve makes the fake reachable.
func serve(t *testing.T, f *fake) func(context.Context) (*api.Client, error) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(f)
	srv.Listener.Close()
	srv.Listener = l
	srv.Start()
	var clients []*api.Client
	t.Cleanup(func() {
		for _, c := range clients {
			c.Close()
		}
		srv.CloseClientConnections()
		srv.Close()
	})
	return func(context.Context) (*api.Client, error) {
		c := api.DialBroker(socket)
		clients = append(clients, c)
		return c, nil
	}
}

func TestEveryByteComesOnceHoweverOftenTheConnectionBreaks(t *testing.T) {
	for _, cut := range []int{0, 1, 25} {
		f := newFake()
		f.cut = cut
		var out, msg bytes.Buffer
		var states, news int
		go func() {
			for i := range 50 {
				f.set(func() { f.out += fmt.Sprintf("line %d\n", i) })
			}
			f.set(func() { f.over = true })
		}()
		job, err := JobToEnd(context.Background(),
			Options{Connect: serve(t, f), Job: "7", Stdout: &out, Stderr: &msg, See: func(l *api.Live) {
				states++
				news += len(l.News)
			}})
		if err != nil || *job.ExitCode != 3 || states == 0 || news != 1 {
			t.Fatalf("%v %+v, %d states, %d news", err, job, states, news)
		}
		if out.String() != f.out || msg.String() != strings.ToUpper(f.out) {
			t.Errorf("%d cuts: got %q and %q, want %q", cut, out.String(), msg.String(), f.out)
		}
	}
}

func TestAnInterruptedFollowerEndsTheJobAndHearsItOut(t *testing.T) {
	f := newFake()
	f.out = "begun\n"
	ctx, cancel := context.WithCancel(context.Background())
	var out bytes.Buffer
	job, err := JobToEnd(ctx, Options{Connect: serve(t, f), Job: "7", Stdout: &out,
		See: func(*api.Live) { cancel() },
		Interrupted: func(ctx context.Context, c *api.Client) error {
			f.set(func() { f.out += "last words\n" })
			_, err := c.CancelJob(ctx, "7")
			return err
		}})
	if err != nil || !job.IsOver() || !f.cancelled || out.String() != "begun\nlast words\n" {
		t.Errorf("%v %+v %q", err, job, out.String())
	}
}

func TestWhoeverOnlyWaitsLeavesTheJobAlone(t *testing.T) {
	f := newFake()
	ctx, cancel := context.WithCancel(context.Background())
	_, err := JobToEnd(ctx, Options{Connect: serve(t, f), Job: "7", See: func(*api.Live) { cancel() }})
	if !errors.Is(err, context.Canceled) || f.cancelled {
		t.Errorf("%v, cancelled %v", err, f.cancelled)
	}
}

func TestAnOutputThatNobodyReadsEndsTheJob(t *testing.T) {
	f := newFake()
	f.out = "begun\n"
	_, err := JobToEnd(context.Background(), Options{Connect: serve(t, f), Job: "7", Stdout: closed{},
		Interrupted: func(ctx context.Context, c *api.Client) error { _, err := c.CancelJob(ctx, "7"); return err }})
	if !errors.Is(err, ErrOutput) || !f.cancelled {
		t.Errorf("%v, cancelled %v", err, f.cancelled)
	}
}

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestAJobThatIsNotThereAndABrokerThatStaysAwayAreErrors(t *testing.T) {
	_, err := JobToEnd(context.Background(), Options{Connect: serve(t, newFake()), Job: "8", Stdout: &bytes.Buffer{}})
	if err == nil || !strings.Contains(err.Error(), "no such job") {
		t.Error(err)
	}
	away := func(context.Context) (*api.Client, error) { return nil, errors.New("nobody there") }
	_, err = JobToEnd(context.Background(), Options{Connect: away, Job: "7", Patience: 50 * time.Millisecond})
	if err == nil || err.Error() != "watching job 7: nobody there" {
		t.Error(err)
	}
}
