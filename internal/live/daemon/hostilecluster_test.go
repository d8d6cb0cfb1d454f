package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/remote/talk"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// relayRole is what ssh is in these tests: a process that carries standard input and
// output to the test, which is the outpost itself.
const relayRole, relaySetting = "relay", "GODWIT_TEST_RELAY"

func init() { roles[relayRole] = relayMain }

func relayMain() int {
	c, err := net.Dial("unix", os.Getenv(relaySetting))
	if err != nil {
		return 1
	}
	go func() {
		_, _ = io.Copy(c, os.Stdin)
		_ = c.Close()
	}()
	_, _ = io.Copy(os.Stdout, c)
	return 0
}

// hostile is a broker with a cluster whose outpost is the test.
type hostile struct {
	*bed
	*evilOutpost
}

type evilOutpost struct {
	starts chan *wire.Attempt
	claims atomic.Bool // it says that it runs the first job, too

	mu   sync.Mutex
	link *talk.Link
}

// upHostile starts a broker with a cluster of this machine and a hostile one.
func upHostile(t *testing.T) *hostile {
	t.Helper()
	dir, err := os.MkdirTemp("", "gw-evil-") // short: a socket is in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	script := fmt.Sprintf("#!/bin/sh\ncase \" $* \" in *' -G '*) exit 1;; esac\nexec env GODWIT_TEST_ROLE=%s %s=%s/s %s\n",
		relayRole, relaySetting, dir, os.Args[0])
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	h := &hostile{evilOutpost: &evilOutpost{starts: make(chan *wire.Attempt, 100)}}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go h.serve(c)
		}
	}()
	h.bed = up(t, "clusters:\n  - {name: near, cpus: [0], slots: 2, speed: 1}\n  - {name: evil, ssh: evil, slots: 4, "+
		"speed: 1}\nintervals: {sample: 200ms}\n")
	return h
}

// serve is one connection.
func (h *evilOutpost) serve(c net.Conn) {
	_, _ = io.WriteString(c, talk.Greeting+"\n")
	link, err := talk.NewLink(c, false, clock.RealClock())
	if err != nil {
		return
	}
	first, err := link.AcceptStream()
	if err != nil {
		return
	}
	var hello talk.Hello
	if talk.ReceiveMessage(first, &hello) != nil ||
		talk.SendMessage(first, &talk.Welcome{Protocol: talk.Protocol, Host: "evil", PID: 1, Dir: "/evil"}) != nil {
		return
	}
	h.mu.Lock()
	h.link = link
	h.mu.Unlock()
	for {
		s, err := link.AcceptStream()
		if err != nil {
			return
		}
		go h.answer(s)
	}
}

func (h *evilOutpost) answer(s talk.Stream) {
	defer func() { _ = s.Close() }()
	var q talk.Request
	if talk.ReceiveMessage(s, &q) != nil {
		return
	}
	a := new(talk.Answer)
	switch q.Do {
	case talk.Start:
		h.starts <- q.Attempt
	case talk.Survey:
		a.Survey = &driver.Survey{Hosts: []driver.Host{{Name: "evil", Procs: 4, Free: 4, Speed: 1}},
			Methods: []string{"restart"}}
	case talk.Load:
		a.Load = &driver.Load{Share: 1, Sd: 0.1}
	case talk.Find:
		if h.claims.Load() {
			a.Found = []driver.Found{{ID: driver.ID{Job: 1, Epoch: 1}, Alive: true}, {ID: driver.ID{Job: 1, Epoch: 2}}}
		}
	case talk.Equip:
		a.Have = q.Binary.Size
	case talk.Release, talk.Why:
	default:
		a = talk.AnswerFromError(errors.ErrUnsupported)
	}
	_ = talk.SendMessage(s, a)
}

// dial is a way from the cluster to the broker, as its agents have it.
func (h *evilOutpost) dial(context.Context, string, string) (net.Conn, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.link == nil {
		return nil, errors.New("not connected")
	}
	return h.link.OpenStream()
}

func (h *evilOutpost) http() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: h.dial, DisableKeepAlives: true}}
}

// started is the next attempt that the cluster is to run.
func (h *hostile) started() *wire.Attempt {
	h.Helper()
	select {
	case a := <-h.starts:
		return a
	case <-time.After(3 * time.Minute):
		h.Fatal("nothing is started")
		return nil
	}
}

// speak says something as the agent of an attempt and returns what is answered until
// the last of it is acknowledged, or the broker hangs up.
func (h *hostile) speak(a *wire.Attempt, messages ...wire.Message) []wire.Order {
	h.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	raw, err := h.dial(ctx, "", "")
	if err != nil {
		h.Fatal(err)
	}
	conn, err := wire.UpgradeConn(ctx, raw)
	if err != nil {
		h.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	_ = wire.WriteFrame(conn, &wire.Message{Kind: wire.Hello, Job: a.Job, Epoch: a.Epoch, Mark: a.Mark})
	for i := range messages {
		messages[i].Seq = uint64(i + 1)
		_ = wire.WriteFrame(conn, &messages[i]) // it may have hung up
	}
	var orders []wire.Order
	for {
		var o wire.Order
		if wire.ReadFrame(conn.R, &o) != nil {
			return orders
		}
		orders = append(orders, o)
		if o.Kind == wire.Kill || o.Kind == wire.Ack && o.Seq >= uint64(len(messages)) {
			return orders
		}
	}
}

// result puts files into the depot as those that a job left, by their names there, and
// has names changed in the list of files.
func (h *hostile) result(files, change map[string]string) string {
	h.Helper()
	dir := h.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			h.Fatal(err)
		}
	}
	c := depot.NewClient(h.http(), "http://broker"+wire.Depot)
	id, _, _, err := depot.PushFolder(context.Background(), dir, c, depot.PushOptions{})
	if err != nil {
		h.Fatal(err)
	}
	if len(change) == 0 {
		return string(id)
	}
	tree, err := c.GetChunk(context.Background(), id)
	if err != nil {
		h.Fatal(err)
	}
	for from, to := range change {
		if !bytes.Contains(tree, []byte(from)) {
			h.Fatalf("%s is not in %s", from, tree)
		}
		tree = bytes.ReplaceAll(tree, []byte(from), []byte(to))
	}
	other := chunk.IDOf(tree)
	if err := errors.Join(c.PutChunk(context.Background(), other, tree), c.SyncChunks(context.Background())); err != nil {
		h.Fatal(err)
	}
	return string(other)
}

// around lists what is in a folder and below, with contents.
func around(t testing.TB, top string) string {
	t.Helper()
	var list strings.Builder
	err := filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			text, _ := os.ReadFile(path)
			fmt.Fprintf(&list, "%s: %s\n", strings.TrimPrefix(path, top), text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list.String()
}

func TestAHostileClusterWritesNothingButTheOutputsOfItsJob(t *testing.T) {
	h := upHostile(t)
	for name, c := range map[string]struct {
		files, change map[string]string
		hosts         []string
	}{
		"files that the job does not name": {files: map[string]string{"out.txt": "result", "mine.txt": "changed",
			".bashrc": "evil"}},
		"a path that leads out": {files: map[string]string{"out.txt": "result", "aa/evil": "evil"},
			change: map[string]string{`"aa/evil"`: `"../evil"`, `"aa"`: `"ab"`}},
		"an absolute path": {files: map[string]string{"out.txt": "result", "aa/evil": "evil"},
			change: map[string]string{`"aa/evil"`: `"/tmp/gw-evil-file"`, `"aa"`: `"ab"`}},
		"a host whose name is a path": {files: map[string]string{"out.txt": "result"}, hosts: []string{"/../../evil"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := &hostile{h.on(t), h.evilOutpost}
			home := t.TempDir()
			work := filepath.Join(home, "work")
			if err := errors.Join(os.Mkdir(work, 0o700),
				os.WriteFile(filepath.Join(work, "mine.txt"), []byte("mine"), 0o600)); err != nil {
				t.Fatal(err)
			}
			spec := job("prog")
			spec.On, spec.Workdir, spec.Outputs, spec.Retries = []string{"evil"}, work, []string{"out.txt"}, 0
			spec.Stdout, spec.Append = "log.%N", true
			id := h.submit(spec)
			a := h.started()
			h.speak(a, wire.Message{Kind: wire.Running, Method: "restart", Hosts: c.hosts},
				wire.Message{Kind: wire.Output, Stream: 1, Data: []byte("written by the cluster")},
				wire.Message{Kind: wire.Ended, Result: h.result(c.files, c.change)})
			j := h.end(id)
			t.Logf("it is %s: %s", j.State, j.Why)
			for line := range strings.Lines(around(t, home)) {
				file, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
				switch {
				case file == "/work/mine.txt" && text == "mine", file == "/work/out.txt" && text == "result":
				case strings.HasPrefix(file, "/work/log.") && strings.Count(file, "/") == 2:
				default:
					t.Errorf("there is %s", line)
				}
			}
			if _, err := os.Lstat("/tmp/gw-evil-file"); err == nil {
				t.Error("there is /tmp/gw-evil-file")
			}
		})
	}
}

func TestAHostileClusterSeesAndTouchesNothingOfAnotherJob(t *testing.T) {
	h := upHostile(t)
	other := job("/bin/sh", "-c", "echo secret words; until [ -e go ]; do sleep 0.05; done")
	other.On, other.Checkpoint.Method, other.Workdir = []string{"near"}, "restart", t.TempDir()
	ref := h.submit(other)
	h.shows(ref, "secret words")
	h.claims.Store(true)
	spec := job("prog")
	spec.On = []string{"evil"}
	id := h.submit(spec)
	a := h.started()
	h.speak(a, wire.Message{Kind: wire.Running, Method: "restart"})
	// As the agent of the other job, whose mark it does not know.
	for _, mark := range []string{"", a.Mark, strings.Repeat("0", len(a.Mark))} {
		forged := &wire.Attempt{Job: 1, Epoch: 1, Mark: mark}
		orders := h.speak(forged, wire.Message{Kind: wire.Output, Stream: 1, Data: []byte("forged")},
			wire.Message{Kind: wire.Ended, Code: 9})
		if len(orders) > 0 && orders[0].Kind != wire.Kill {
			t.Errorf("as the agent of another job it is told %v", orders)
		}
	}
	// As a user.
	for _, path := range []string{"/v1/jobs?all=1", "/v1/jobs/1", "/v1/jobs/1/logs?stream=1&offset=0",
		"/v1/jobs/1/explain", "/v1/history", "/v1/ping",
		wire.Depot + "../jobs?all=1", "/v1/../v1/jobs/1"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://broker"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := h.http().Do(req)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode < 400 || strings.Contains(string(text), "secret") {
			t.Errorf("%s: %s %s", path, resp.Status, text)
		}
	}
	h.speak(a, wire.Message{Kind: wire.Running, Method: "restart"}, wire.Message{Kind: wire.Ended})
	h.end(id)
	if j := h.until(ref, func(*api.Job) bool { return true }); j.State != core.Running || j.Cluster != "near" ||
		j.Attempts != 1 {
		t.Errorf("the other job is %s on %s in attempt %d: %s", j.State, j.Cluster, j.Attempts, j.Why)
	}
	if got := h.output(ref, 1); got != "secret words\n" {
		t.Errorf("the other job has written %q", got)
	}
	if _, err := h.client.CancelJob(context.Background(), ref); err != nil {
		t.Error(err)
	}
}

func TestAHostileClusterDoesNotEndTheBroker(t *testing.T) {
	h := upHostile(t)
	other := job("true")
	other.On, other.Checkpoint.Method = []string{"near"}, "restart"
	for n, evil := range []func(*wire.Attempt){
		func(a *wire.Attempt) {
			h.speak(a, wire.Message{Kind: wire.Running, Method: "restart"},
				wire.Message{Kind: wire.Lost, State: &wire.Vitals{CPU: 1.7e308}})
		},
		func(a *wire.Attempt) {
			h.speak(a, wire.Message{Kind: wire.Checkpoint,
				Saved: &wire.Saved{N: -1, Image: "../../x", Work: strings.Repeat("f", 64), Bytes: -1 << 60}},
				wire.Message{Kind: wire.Left})
		},
		func(a *wire.Attempt) {
			h.speak(a, wire.Message{Kind: wire.Ended, Code: -1 << 31, Result: strings.Repeat("0", 64), Outgoing: "/"})
		},
		func(*wire.Attempt) { // a frame without an end, then one that is too long
			for _, frame := range []string{"\x00\x00\x10\x00{", "\xff\xff\xff\xff{}"} {
				if c, err := h.dial(t.Context(), "", ""); err == nil {
					_, _ = io.WriteString(c, "POST "+wire.Path+
						" HTTP/1.1\r\nHost: x\r\nUpgrade: godwit\r\nConnection: Upgrade\r\n\r\n"+frame)
					_ = c.Close()
				}
			}
		},
		func(*wire.Attempt) { // the whole connection
			h.mu.Lock()
			defer h.mu.Unlock()
			_ = h.link.Close()
		},
	} {
		spec := job("prog")
		spec.On, spec.Retries = []string{"evil"}, 0
		h.submit(spec)
		evil(h.started())
		if j := h.end(h.submit(other)); j.State != core.Done {
			t.Errorf("after attack %d the other job is %s: %s", n, j.State, j.Why)
		}
	}
}
