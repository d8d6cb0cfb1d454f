package daemon_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

const oneCluster = `
clusters:
  - {name: a, cpus: [0, 1], slots: 16}
intervals: {sample: 200ms}
`

// left lists the processes of a job that live: those that name the folder of
// one of its attempts in their command or environment, or stand in it.
func (b *bed) left(id string) []string {
	b.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		b.Fatal(err)
	}
	clusters := []byte(filepath.Join(b.dir, "state", "clusters") + "/")
	var list []string
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil || e.Name() == strconv.Itoa(os.Getpid()) {
			continue
		}
		dir := filepath.Join("/proc", e.Name())
		cmdline, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || len(cmdline) == 0 {
			continue // gone, or only waiting to be buried
		}
		env, _ := os.ReadFile(filepath.Join(dir, "environ")) // what cannot be read has no name in it
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
		all := bytes.Join([][]byte{cmdline, env, []byte(cwd)}, []byte{0})
		for {
			_, rest, found := bytes.Cut(all, clusters)
			if !found {
				break
			}
			if _, name, ok := bytes.Cut(rest, []byte("/")); ok && bytes.HasPrefix(name, []byte(id+".")) {
				list = append(list, e.Name()+" "+string(bytes.ReplaceAll(cmdline, []byte{0}, []byte(" "))))
				break
			}
			all = rest
		}
	}
	return list
}

// nothingLeft checks that soon nothing of a job is there any more: no process,
// no folder of an attempt.
func (b *bed) nothingLeft(id string) {
	b.Helper()
	var processes, folders []string
	clocktest.WaitFor(b, "the end of all that belongs to job "+id, func() bool {
		processes = b.left(id)
		var err error
		if folders, err = filepath.Glob(filepath.Join(b.dir, "state", "clusters", "*", id+".*")); err != nil {
			b.Fatal(err)
		}
		return len(processes)+len(folders) == 0
	}, func() string { return fmt.Sprintf("there are left %v %v", processes, folders) })
}

// shows waits until a job has written a text.
func (b *bed) shows(id, text string) {
	b.Helper()
	clocktest.WaitFor(b, fmt.Sprintf("job %s to write %q", id, text),
		func() bool { return strings.Contains(b.output(id, 1), text) },
		func() string {
			j, err := b.client.GetJob(context.Background(), id)
			return fmt.Sprintf("it wrote %q %q and is %s: %s (%v)", b.output(id, 1), b.output(id, 2), j.State, j.Why, err)
		})
}

func isState(want core.State, code int, j *api.Job) bool {
	return j.State == want && j.ExitCode != nil && *j.ExitCode == code
}

// odd is a program that most people would not run, and what is to come of it.
type odd struct {
	name   string
	line   string            // of a shell; or
	argv   []string          // as it is
	files  map[string]string // in its folder; those that begin with #! are executable
	change func(*jobfile.Job)
	plain  bool // is not for the sandbox
	code   int
	why    string // stands in the reason
	out    string // is all of its output
}

var odds = []odd{
	{name: "does not exist", argv: []string{"./nobody"}, code: 127, why: "nobody"},
	{name: "is not found", argv: []string{"godwit-nobody-has-this"}, code: 127, why: "not found in"},
	{name: "is not executable", argv: []string{"./data"}, files: map[string]string{"data": "1\n"}, code: 126, why: "data"},
	{name: "is a folder", argv: []string{"/tmp"}, code: 126, why: "/tmp"},
	{name: "is a script without its interpreter", argv: []string{"./s"},
		files: map[string]string{"s": "#!/nobody/has/this -x\n"}, why: "./s", code: 127},
	{name: "writes to a closed pipe", line: "yes | head -1; echo status $?", out: "y\nstatus 0\n"},
	{name: "dies of a closed pipe", argv: []string{"python3", "-c", `import os, signal
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
r, w = os.pipe()
os.close(r)
os.write(w, b"x")`}, code: 128 + 13, why: "SIGPIPE"},
	{name: "is told of a closed pipe", line: "trap '' PIPE; (echo x; echo x || echo no >&2) | true; exit 0"},
	{name: "is killed by a child", line: "sh -c 'kill -TERM $PPID'; sleep 1", code: 128 + 15, why: "SIGTERM"},
	{name: "aborts", line: "ulimit -c 0; kill -ABRT $$", code: 128 + 6, why: "SIGABRT"},
	{name: "runs too long", line: "echo begun; sleep 1000", change: func(j *jobfile.Job) { j.Time = 20 * time.Second },
		code: 124, why: "time", out: "begun\n"},
	{name: "runs too long and does not care", line: "trap '' TERM INT; echo begun; while :; do sleep 0.1; done",
		change: func(j *jobfile.Job) { j.Time = 20 * time.Second }, code: 124, why: "time", out: "begun\n"},
	{name: "ends without a newline", line: "printf 'no newline'", out: "no newline"},
	{name: "writes what is no text", line: `printf '\000\377\376\012\015\033[31m\000'`,
		out: "\x00\xff\xfe\n\r\x1b[31m\x00"},
	{name: "reads", line: "cat; wc -c; echo end", out: "0\nend\n"},
	{name: "closes its output", line: "echo one; exec 1>&- 2>&-; sleep 0.2; exit 5", out: "one\n", code: 5, why: "5"},
	{name: "has a tree of 200 processes",
		line: "n=0; while [ $n -lt 199 ]; do sleep 0.5 & n=$((n+1)); done; wait; echo $n", out: "199\n"},
	{name: "says nothing and fails", line: "exit 255", code: 255, why: "255"},
}

// prepared is a job of the program, with method.
func (o *odd) prepared(t *testing.T, method string) jobfile.Job {
	spec := job(o.argv...)
	if o.line != "" {
		spec = job("/bin/sh", "-c", o.line)
	}
	if o.files != nil {
		spec.Workdir = t.TempDir()
		for name, text := range o.files {
			mode := fs.FileMode(0o600)
			if strings.HasPrefix(text, "#!") {
				mode = 0o700
			}
			if err := os.WriteFile(filepath.Join(spec.Workdir, name), []byte(text), mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	spec.Checkpoint.Method = method
	if o.change != nil {
		o.change(&spec)
	}
	return spec
}

func TestOddProgramsEndClearly(t *testing.T) {
	shared := up(t, oneCluster)
	for _, method := range []string{"restart", "sandbox"} {
		for _, o := range odds {
			t.Run(method+"/"+o.name, func(t *testing.T) {
				t.Parallel()
				b := shared.on(t)
				id := b.submit(o.prepared(t, method))
				j := b.end(id)
				want := core.Failed
				if o.code == 0 {
					want = core.Done
				}
				if !isState(want, o.code, &j) || !strings.Contains(j.Why, o.why) || strings.Contains(j.Why, "\n") {
					t.Errorf("it is %s with code %v because %q; want %s, %d, %q", j.State, show(j.ExitCode), j.Why, want, o.code,
						o.why)
				}
				if got := b.output(id, 1); got != o.out {
					t.Errorf("it wrote %q, want %q", got, o.out)
				}
				if j.Attempts != 1 {
					t.Errorf("it was started %d times", j.Attempts)
				}
				b.nothingLeft(id)
			})
		}
	}
}

func show(code *int) string {
	if code == nil {
		return "none"
	}
	return strconv.Itoa(*code)
}

// stubborn are programs that do not want to go. Each says that it is ready.
var stubborn = []odd{
	{name: "ignores SIGTERM", line: "trap '' TERM INT HUP; echo ready; while :; do sleep 0.1; done"},
	{name: "ignores SIGTERM with its children",
		line: "trap '' TERM; sleep 1000 & sleep 1000 & (trap '' TERM; sleep 1000) & echo ready; wait; wait; sleep 1000"},
	{name: "is a daemon", plain: true, argv: []string{"python3", "-c", `import os, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.chdir("/")
print("ready", flush=True)
time.sleep(1000)`}},
	{name: "is a daemon without a name", plain: true, argv: []string{"env", "-i", "python3", "-c", `import os, sys, time
os.chdir("/")
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.execve("/usr/bin/env", ["env", "python3", "-c", "import time; print('ready', flush=True); time.sleep(1000)"], {})`}},
	{name: "stands still", line: "echo ready; kill -STOP $$; echo never"},
	{name: "forks all the time", line: "echo ready; while :; do sleep 0.05 & done",
		change: func(j *jobfile.Job) { j.Processes = 200 }},
}

func TestWhateverAProgramDoesCancelLeavesNothing(t *testing.T) {
	shared := up(t, oneCluster)
	for _, method := range []string{"restart", "sandbox"} {
		for _, o := range stubborn {
			if o.plain && method == "sandbox" {
				continue
			}
			t.Run(method+"/"+o.name, func(t *testing.T) {
				t.Parallel()
				b := shared.on(t)
				spec := o.prepared(t, method)
				grace := 2 * time.Second
				spec.Grace = &grace
				id := b.submit(spec)
				b.shows(id, "ready")
				inside := b.inside(id)
				j, err := b.client.CancelJob(context.Background(), id)
				if err != nil {
					t.Fatal(err)
				}
				if j.State != core.Cancelled || b.output(id, 1) != "ready\n" {
					t.Errorf("it is %s and wrote %q: %s", j.State, b.output(id, 1), j.Why)
				}
				if left := alive(inside); len(left) > 0 {
					t.Errorf("when cancel returned there were %v", left)
				}
				b.nothingLeft(id)
			})
		}
	}
}

// inside lists the processes of a running job, with when they began: whatever
// descends from its agent, but not the agent.
func (b *bed) inside(id string) map[int]string {
	b.Helper()
	locks, err := filepath.Glob(filepath.Join(b.dir, "state", "clusters", "*", id+".*", "lock"))
	if b.far != "" && len(locks) == 0 {
		locks, err = filepath.Glob(filepath.Join(b.far, "*", "attempts", id+".*", "lock"))
	}
	if err != nil || len(locks) != 1 {
		b.Fatalf("job %s has %d attempts: %v", id, len(locks), err)
	}
	text, err := os.ReadFile(locks[0])
	if err != nil {
		b.Fatal(err)
	}
	agent, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		b.Fatal(err)
	}
	family := map[int]string{agent: began(agent)}
	for grew := true; grew; {
		grew = false
		entries, err := os.ReadDir("/proc")
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err != nil || family[pid] != "" {
				continue
			}
			if fields := stat(pid); len(fields) > 20 {
				parent, _ := strconv.Atoi(fields[1])
				if family[parent] != "" {
					family[pid], grew = fields[19], true
				}
			}
		}
	}
	delete(family, agent) // it may wait for another attempt
	return family
}

// stat is /proc/PID/stat behind the name: state, parent …; nil if it is gone.
func stat(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}

func began(pid int) string {
	if fields := stat(pid); len(fields) > 20 {
		return fields[19]
	}
	return ""
}

// alive are those that still live and are not only waiting to be buried.
func alive(family map[int]string) []int {
	var list []int
	for pid, start := range family {
		if fields := stat(pid); len(fields) > 20 && fields[19] == start && fields[0] != "Z" && fields[0] != "X" {
			list = append(list, pid)
		}
	}
	return list
}

// daemonizes leaves the terminal as daemons do, then does its work.
const daemonizes = `import os, time
print("begun", flush=True)
if os.fork(): os._exit(3)
os.setsid()
if os.fork(): os._exit(0)
time.sleep(1.5)
open("late", "w").write("late")
print("late", flush=True)`

// A job lasts until its last process has ended, daemons included; its exit code
// is that of its first process.
func TestAJobLastsUntilItsDaemonsHaveEnded(t *testing.T) {
	b := up(t, oneCluster)
	spec := job("python3", "-c", daemonizes)
	spec.Workdir = t.TempDir()
	id := b.submit(spec)
	j := b.end(id)
	if !isState(core.Failed, 3, &j) || b.output(id, 1) != "begun\nlate\n" {
		t.Errorf("it is %s with code %s and wrote %q: %s", j.State, show(j.ExitCode), b.output(id, 1), j.Why)
	}
	if text, err := os.ReadFile(filepath.Join(spec.Workdir, "late")); err != nil || string(text) != "late" {
		t.Errorf("the daemon's file is %q, %v", text, err)
	}
	b.nothingLeft(id)
}

// In the sandbox the first process is what init is to a machine: with it
// everything ends.
func TestInTheSandboxDaemonsEndWithTheProgram(t *testing.T) {
	b := up(t, oneCluster)
	spec := job("python3", "-c", daemonizes)
	spec.Checkpoint.Method = "sandbox"
	id := b.submit(spec)
	if j := b.end(id); !isState(core.Failed, 3, &j) || b.output(id, 1) != "begun\n" {
		t.Errorf("it is %s with code %s and wrote %q: %s", j.State, show(j.ExitCode), b.output(id, 1), j.Why)
	}
	b.nothingLeft(id)
}

// In the sandbox that may be taken for the deed of somebody outside, which is no
// fault of the program's; then it is tried again, as often as the job allows.
func TestAProgramThatKillsItself(t *testing.T) {
	b := up(t, oneCluster)
	for method, why := range map[string]string{"restart": "SIGKILL", "sandbox": "KILL"} {
		spec := job("/bin/sh", "-c", "kill -9 $$")
		spec.Checkpoint.Method, spec.Retries = method, 1
		id := b.submit(spec)
		if j := b.end(id); j.State != core.Failed || j.ExitCode == nil || *j.ExitCode == 0 || !strings.Contains(j.Why, why) {
			t.Errorf("with %s it is %s with code %s: %s", method, j.State, show(j.ExitCode), j.Why)
		}
		b.nothingLeft(id)
	}
}

// A fork bomb under a limit does not get beyond it, and ends when it is told to.
func TestAForkBombStaysBelowItsLimit(t *testing.T) {
	shared := up(t, oneCluster)
	const limit = 60
	for _, method := range []string{"restart", "sandbox"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			b := shared.on(t)
			spec := job("python3", "-c", `import os, time
print("ready", flush=True)
while True:
    try:
        os.fork()
    except OSError:
        time.sleep(0.05)`)
			spec.Processes = limit
			spec.Checkpoint.Method = method
			id := b.submit(spec)
			b.shows(id, "ready")
			most := 0
			for range 30 { // it forks on all the time
				most = max(most, len(b.inside(id)))
				time.Sleep(50 * time.Millisecond)
			}
			// Beside the program there are the agent and the sandbox's own, of
			// which one stands for each of the program's address spaces.
			if most > 3*limit {
				t.Errorf("it has %d processes", most)
			}
			t.Logf("at most %d processes", most)
			if _, err := b.client.CancelJob(context.Background(), id); err != nil {
				t.Fatal(err)
			}
			b.nothingLeft(id)
		})
	}
}

// flood writes n bytes as quickly as it can, no two lines alike.
const flood = `import sys
n, i, out = int(sys.argv[1]), 0, sys.stdout.buffer
block = b"x" * 1000
while n > 0:
    lines = b"".join(b"%015d" % (i + k) + block + b"\n" for k in range(100))
    i += 100
    out.write(lines[:n])
    n -= len(lines)
`

func wantFlood(n int64) [32]byte {
	h := sha256.New()
	block := strings.Repeat("x", 1000)
	for i := 0; n > 0; i++ {
		line := fmt.Sprintf("%015d%s\n", i, block)
		line = line[:min(int64(len(line)), n)]
		n -= int64(len(line))
		_, _ = io.WriteString(h, line)
	}
	return [32]byte(h.Sum(nil))
}

func TestMuchOutputIsKeptToTheByte(t *testing.T) {
	const size = 100_000_000
	want := wantFlood(size)
	shared := up(t, oneCluster)
	for _, method := range []string{"restart", "sandbox"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			b := shared.on(t)
			spec := job("python3", "-c", flood, strconv.Itoa(size))
			spec.Checkpoint.Method = method
			id := b.submit(spec)
			h := sha256.New()
			n, err := b.client.CopyLogs(context.Background(), id, 1, 0, true, h) // while it writes
			if err != nil {
				t.Fatal(err)
			}
			if j := b.end(id); !isState(core.Done, 0, &j) {
				t.Errorf("it is %s: %s", j.State, j.Why)
			}
			if n != size || [32]byte(h.Sum(nil)) != want {
				t.Errorf("it wrote %d bytes, want %d; they differ", n, size)
			}
			b.nothingLeft(id)
		})
	}
}

func TestOfMuchOutputTheLastIsKept(t *testing.T) {
	const size, keep = 100_000_000, 20_000_000
	b := up(t, oneCluster+"keep: {logs: 20MB}\n")
	id := b.submit(job("python3", "-c", flood, strconv.Itoa(size)))
	if j := b.end(id); !isState(core.Done, 0, &j) {
		t.Fatalf("it is %s: %s", j.State, j.Why)
	}
	var out bytes.Buffer
	end, err := b.client.CopyLogs(context.Background(), id, 1, 0, false, &out)
	if err != nil {
		t.Fatal(err)
	}
	const last = 98_424 // the line that begins last
	if !strings.HasSuffix(out.String(), fmt.Sprintf("%015d", last)+strings.Repeat("x", 1000)+"\n") &&
		!strings.Contains(out.String(), fmt.Sprintf("\n%015d", last)) {
		t.Errorf("the last line is not there: …%q", out.String()[max(0, out.Len()-60):])
	}
	onDisk := int64(0)
	err = filepath.WalkDir(filepath.Join(b.dir, "state", "logs"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			info, e := d.Info()
			err = e
			onDisk += info.Size()
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	const segment = 16 << 20
	if onDisk > keep+segment || onDisk < keep-segment || int64(out.Len()) != onDisk {
		t.Errorf("%d bytes are kept and %d shown, of %d until %d; %d are to be kept", onDisk, out.Len(), size, end, keep)
	}
}
