//go:build soak

package daemon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/protocol/wire/wiretest"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// attackerRole is a process of bob that does whatever it can to the broker, until it is
// ended. What it should not have seen, and how often it did what, it prints.
const attackerRole = "attacker"

func init() {
	roles[attackerRole] = attackerMain
	roles[proberRole] = proberMain
}

// victimSecret begins everything of alice's that nobody else is to see.
const victimSecret = "ALICE-SECRET-"

type attacker struct {
	home, victim, socket string
	client               *api.Client

	mu     sync.Mutex
	counts map[string]int
}

func attackerMain() int {
	a := &attacker{home: os.Getenv("HOME"), victim: os.Getenv("GODWIT_TEST_VICTIM"), socket: os.Getenv("GODWIT_SOCKET"),
		counts: map[string]int{}}
	a.client = api.DialBroker(a.socket)
	seed, _ := strconv.ParseUint(os.Getenv("GODWIT_SEED"), 10, 64)
	end := time.Now().Add(attackTime())
	attacks := []struct {
		name string
		do   func(*rand.Rand)
	}{
		{"requests", a.requests}, {"conversations", a.conversations}, {"connections", a.connections},
		{"slow bodies", a.slowBodies},
		{"jobs", a.jobs}, {"greedy jobs", a.greedyJobs}, {"links", a.links}, {"stops", a.stopHelpers}, {"depot", a.depot},
	}
	var work sync.WaitGroup
	for w := range 6 {
		work.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(w)))
			for time.Now().Before(end) {
				x := attacks[random.IntN(len(attacks))]
				x.do(random)
				a.count(x.name)
			}
		})
	}
	work.Wait()
	a.signalOwn(syscall.SIGCONT)
	for _, x := range attacks {
		fmt.Printf("did %s %d times\n", x.name, a.counts[x.name])
	}
	return 0
}

func attackTime() time.Duration {
	d, err := time.ParseDuration(os.Getenv("GODWIT_ATTACK_TIME"))
	if err != nil {
		return 3 * time.Minute
	}
	return d
}

func (a *attacker) count(what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts[what]++
}

// look searches for what is not to be seen.
func (a *attacker) look(where string, text []byte) {
	if i := bytes.Index(text, []byte(victimSecret)); i >= 0 {
		fmt.Printf("SEEN by %s: %.200q\n", where, text[max(0, i-50):])
	}
}

// script is random bytes, read as choices.
func script(random *rand.Rand, n int) *wiretest.Script {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	return wiretest.NewScript(data)
}

func (a *attacker) request(method, path string, body []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, api.Base+path, bytes.NewReader(body))
	if err != nil {
		return
	}
	resp, err := a.client.HTTP.Do(req)
	if err != nil {
		return
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<20)) // what came in time
	a.look(method+" "+path, text)
}

// requests asks for anything, about jobs of anybody.
func (a *attacker) requests(random *rand.Rand) {
	s := script(random, 2000)
	ends := []string{"", "/cancel", "/cancel?now=1", "/migrate", "/checkpoint", "/explain", "/logs?stream=1&offset=0",
		"/logs?stream=2&offset=0", "/watch"}
	others := []string{"/v1/jobs?all=1", "/v1/jobs?users=1&all=1", "/v1/select?job=all", "/v1/select?job=1-100000",
		"/v1/clusters", "/v1/history",
		"/v1/depot-usage", "/v1/hosts", "/v1/weather", "/v1/shutdown", "/v1/reload", "/v1/depot-prune", "/v1/quote",
		"/v1/estimates"}
	for range 20 {
		method := []string{"GET", "POST"}[s.PickOne(2)]
		if s.PickOne(2) == 0 {
			a.request(method, fmt.Sprintf("/v1/jobs/%d%s", random.IntN(3000), ends[s.PickOne(len(ends))]), nil)
			continue
		}
		body, _ := json.Marshal(map[string]any{"job": jobfile.Job{Name: s.NextText(), Argv: s.NextTexts(),
			Min: int(s.NextInt()), Max: int(s.NextInt()), Memory: s.NextInt()}, "to": s.NextText()})
		a.request(method, others[s.PickOne(len(others))], body)
	}
}

// attempts are those of bob's jobs that there are, as their folders say.
func (a *attacker) attempts() []wire.Attempt {
	files, _ := filepath.Glob(filepath.Join(a.home, ".local/state/godwit/outposts/*/*/attempts/*/attempt.json"))
	var list []wire.Attempt
	for _, f := range files {
		var w wire.Attempt
		if text, err := os.ReadFile(f); err == nil && json.Unmarshal(text, &w) == nil {
			list = append(list, w)
		}
	}
	return list
}

// conversations speaks as the agent of a job of bob's, or of anybody's.
func (a *attacker) conversations(random *rand.Rand) {
	s := script(random, 8000)
	at := wire.Attempt{Job: core.JobID(random.IntN(3000)), Epoch: 1, Mark: s.NextText()}
	if list := a.attempts(); len(list) > 0 && s.PickOne(4) > 0 {
		at = list[random.IntN(len(list))]
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var d net.Dialer
	raw, err := d.DialContext(ctx, "unix", a.socket)
	if err != nil {
		return
	}
	defer func() { _ = raw.Close() }()
	conn, err := wire.UpgradeConn(ctx, raw)
	if err != nil {
		return
	}
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	go func() {
		heard, _ := io.ReadAll(io.LimitReader(conn.R, 1<<20))
		a.look("a conversation", heard)
	}()
	if wire.WriteFrame(conn, &wire.Message{Kind: wire.Hello, Job: at.Job, Epoch: at.Epoch, Mark: at.Mark}) != nil {
		return
	}
	for n := range 200 {
		if s.PickOne(50) == 0 {
			_, _ = conn.Write(append(lengthOf(uint32(s.NextInt())), s.TakeBytes(40)...))
			return
		}
		m := s.NextMessage()
		m.Seq = uint64(n + 1)
		if wire.WriteFrame(conn, &m) != nil {
			return
		}
	}
}

// lengthOf begins a frame of that length.
func lengthOf(n uint32) []byte { return []byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)} }

// connections opens many and says nothing.
func (a *attacker) connections(*rand.Rand) {
	var open []net.Conn
	for range 1500 {
		c, err := (&net.Dialer{Timeout: time.Second}).Dial("unix", a.socket)
		if err != nil {
			break
		}
		open = append(open, c)
	}
	time.Sleep(2 * time.Second) // this long they keep others away
	for _, c := range open {
		_ = c.Close()
	}
}

// slowBodies sends requests byte by byte.
func (a *attacker) slowBodies(*rand.Rand) {
	var open []net.Conn
	for range 50 {
		c, err := (&net.Dialer{Timeout: time.Second}).Dial("unix", a.socket)
		if err != nil {
			break
		}
		_, _ = io.WriteString(c, "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 15000000\r\n\r\n{")
		open = append(open, c)
	}
	for range 10 {
		for _, c := range open {
			_, _ = c.Write([]byte(" "))
		}
		time.Sleep(100 * time.Millisecond) // the slowness is the attack
	}
	for _, c := range open {
		_ = c.Close()
	}
}

// godwit runs the program as bob.
func (a *attacker) godwit(args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Getenv("GODWIT_TEST_BINARY"), args...)
	cmd.Dir = a.home
	out, _ := cmd.CombinedOutput()
	a.look(strings.Join(args, " "), out)
	return string(out)
}

func (a *attacker) submit(j *jobfile.Job) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	j.Min, j.Max = 1, 1
	_, _ = a.client.SubmitJob(ctx, &api.Submit{Job: *j}) // it may be refused: there are many
}

// jobs submits more than can run, and cancels them all now and then.
func (a *attacker) jobs(random *rand.Rand) {
	if random.IntN(3) == 0 {
		a.godwit("cancel", "all")
		return
	}
	if random.IntN(2) == 0 {
		a.submit(&jobfile.Job{Name: "array", Argv: []string{"true"}, Array: jobfile.ArrayRange{First: 1, Last: 300, Step: 1}})
		return
	}
	for range 30 {
		a.submit(&jobfile.Job{Name: "sleep", Argv: []string{"sleep", "0.2"}})
	}
}

// greedyJobs run and take what they can: memory, processes, output, disk, other cgroups.
func (a *attacker) greedyJobs(random *rand.Rand) {
	lines := []string{
		"python3 -c 'x = bytearray(600 << 20)'",
		"yes | head -c 30000000",
		"i=0; while [ $i -lt 300 ]; do sleep 5 & i=$((i+1)); done; wait",
		"dd if=/dev/urandom of=big bs=1M count=40 2>/dev/null",
		"kill -STOP $PPID; sleep 1; kill -9 $PPID",
		"cat " + a.victim + "/* " + a.victim + "/*/* /proc/*/environ 2>/dev/null",
		"find / -name attempt.json -readable 2>/dev/null | xargs cat 2>/dev/null",
	}
	a.submit(&jobfile.Job{Name: "greedy", Argv: []string{"sh", "-c", lines[random.IntN(len(lines))]}, Retries: 2})
	for _, j := range a.attempts() {
		if random.IntN(10) == 0 {
			a.godwit("logs", fmt.Sprint(j.Job))
		}
	}
}

// links has results and output written through links to what is somebody else's.
func (a *attacker) links(random *rand.Rand) {
	dir, err := os.MkdirTemp(a.home, "links")
	if err != nil {
		return
	}
	for name, to := range map[string]string{"out": filepath.Join(a.victim, "precious"), "result": "/etc/passwd",
		"sub": a.victim, "in": filepath.Join(a.victim, "precious")} {
		_ = os.Symlink(to, filepath.Join(dir, name))
	}
	text := fmt.Sprintf("#!/bin/sh\n#SBATCH -D %s\n#SBATCH -o %s/out\n#SBATCH --open-mode=%s\necho changed by bob; cat "+
		"in sub/precious; echo changed > sub/precious; echo changed > result\n"+
		"cd ..; mv %s %s.away; ln -s %s %s\n", dir, dir, []string{"append", "truncate"}[random.IntN(2)], dir, dir, a.victim,
		dir)
	file := filepath.Join(dir, "job.sh")
	if os.WriteFile(file, []byte(text), 0o600) == nil {
		a.godwit("submit", file)
	}
	a.godwit("run", "--detach", "--input", filepath.Join(a.victim, "precious"), "--", "cat", "precious")
}

// signalOwn sends a signal to those of bob's processes that work for the broker.
func (a *attacker) signalOwn(s syscall.Signal) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		line, err := os.ReadFile(f)
		words := bytes.Split(line, []byte{0})
		if err != nil || len(words) < 2 {
			continue
		}
		switch string(words[1]) {
		case "outpost", "agent", "hand":
			if pid, err := strconv.Atoi(strings.Split(f, "/")[2]); err == nil {
				_ = syscall.Kill(pid, s) // others' do not hear it
			}
		}
	}
}

// stopHelpers stops what the broker started for bob, for a while or for good.
func (a *attacker) stopHelpers(random *rand.Rand) {
	a.signalOwn(syscall.SIGSTOP)
	time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond) // the while
	if random.IntN(5) == 0 {
		a.signalOwn(syscall.SIGKILL)
	}
	a.signalOwn(syscall.SIGCONT)
}

// depot asks bob's depot for anything and puts a lot into it.
func (a *attacker) depot(random *rand.Rand) {
	s := script(random, 4000)
	for range 10 {
		a.request("POST", wire.Depot+[]string{"put", "get", "missing", "hold", "patch", "sync"}[s.PickOne(6)],
			s.TakeBytes(200))
	}
	dir, err := os.MkdirTemp(a.home, "large")
	if err != nil {
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	data := make([]byte, 4<<20)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	if os.WriteFile(filepath.Join(dir, "data"), data, 0o600) == nil {
		a.godwit("run", "--detach", "--workdir", dir, "--", "true")
	}
}
