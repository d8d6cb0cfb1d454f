package daemon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/host/account"
	"github.com/godwit-hpc/godwit/internal/live/daemon"
)

// person is a user for whom there is no account: what a test says of them is
// believed.
type person struct {
	Name string
	ID   int
}

var alice, bob = person{"alice", 20001}, person{"bob", 20002}

// sharedSetting names the folder of a shared broker; the process that finds it set is
// that broker.
const sharedSetting = "GODWIT_TEST_SHARED"

// sharedMain is a broker of several users, in a process that can be killed.
func sharedMain(dir string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	err := daemon.Run(ctx, daemon.Options{State: filepath.Join(dir, "state"), Config: filepath.Join(dir, "config.yaml"),
		Shared:  filepath.Join(dir, "run", "broker.sock"),
		Version: "test", Agent: []string{os.Getenv("GODWIT_TEST_BINARY"), "agent"},
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Accounts: func(uid uint32) (*account.User, error) {
			for _, p := range []person{{"root", 0}, alice, bob} {
				if p.ID == int(uid) {
					return &account.User{ID: uid, Group: uid, Groups: []uint32{uid}, Name: p.Name, Home: filepath.Join(dir, p.Name),
						Shell: "/bin/sh"}, nil
				}
			}
			return nil, fmt.Errorf("user %d has no account", uid)
		}})
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// shared is a broker of several users.
type shared struct {
	*testing.T
	dir    string
	inside []string // command that runs the broker; nil: it runs as it is
	broker *exec.Cmd
}

func upShared(t *testing.T, settings string) *shared {
	t.Helper()
	return upSharedIn(t, settings)
}

// upSharedIn has the broker run by a command.
func upSharedIn(t *testing.T, settings string, inside ...string) *shared {
	t.Helper()
	dir, err := os.MkdirTemp("", "gw-users-") // short: sockets are in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	b := &shared{T: t, dir: dir, inside: inside}
	b.must(os.Chmod(dir, 0o755))
	b.must(os.Chmod(filepath.Dir(binary), 0o755))
	b.must(os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(settings), 0o600))
	for _, p := range []person{alice, bob} {
		b.must(os.Mkdir(b.home(p), 0o700))
		b.must(os.Chown(b.home(p), p.ID, p.ID))
	}
	b.start()
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Logf("the broker:\n%s", log[max(0, len(log)-8000):])
		}
		b.end(syscall.SIGTERM)
	})
	return b
}

func (b *shared) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *shared) home(p person) string { return filepath.Join(b.dir, p.Name) }

func (b *shared) socket() string { return filepath.Join(b.dir, "run", "broker.sock") }

func (b *shared) start() {
	b.Helper()
	log, err := os.OpenFile(filepath.Join(b.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	b.must(err)
	defer func() { _ = log.Close() }()
	argv := append(slices.Clone(b.inside), os.Args[0])
	b.broker = exec.Command(argv[0], argv[1:]...)
	b.broker.Env = append(os.Environ(), sharedSetting+"="+b.dir, "GODWIT_TEST_BINARY="+binary)
	b.broker.Stdout, b.broker.Stderr = log, log
	b.must(b.broker.Start())
	clocktest.WaitFor(b, "an answer of the broker", func() bool {
		_, err := b.as(alice, "ps")
		return err == nil
	}, func() string {
		text, _ := os.ReadFile(filepath.Join(b.dir, "log"))
		return string(text)
	})
}

func (b *shared) end(s syscall.Signal) {
	_ = b.broker.Process.Signal(s)
	_ = b.broker.Wait()
}

// as runs a command of godwit as somebody, in their home folder.
func (b *shared) as(p person, args ...string) (string, error) {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = b.home(p)
	cmd.Env = []string{"HOME=" + b.home(p), "USER=" + p.Name, "PATH=/usr/bin:/bin", "GODWIT_SOCKET=" + b.socket()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(p.ID), Gid: uint32(p.ID)}}
	if p.ID == 0 {
		cmd.Dir = "/"
	}
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	return out.String(), nil
}

func (b *shared) ok(p person, args ...string) string {
	b.Helper()
	out, err := b.as(p, args...)
	if err != nil {
		b.Fatalf("%s: godwit %s: %v", p.Name, strings.Join(args, " "), err)
	}
	return out
}

// folder makes a work folder of somebody.
func (b *shared) folder(p person, name string) string {
	b.Helper()
	dir := filepath.Join(b.home(p), name)
	b.must(os.Mkdir(dir, 0o700))
	b.must(os.Chown(dir, p.ID, p.ID))
	return dir
}

// submit has somebody submit a job file.
func (b *shared) submit(p person, text string) string {
	b.Helper()
	file := filepath.Join(b.home(p), fmt.Sprintf("job-%d.yaml", time.Now().UnixNano()))
	if strings.HasPrefix(text, "#!") {
		file = strings.TrimSuffix(file, "yaml") + "sh"
	}
	b.must(os.WriteFile(file, []byte(text), 0o644))
	return strings.TrimSpace(b.ok(p, "submit", file))
}

type seen struct {
	State string `json:"state"`
	User  string `json:"user"`
	Why   string `json:"why"`
	Code  *int   `json:"exit_code"`
}

func (b *shared) show(p person, id string) seen {
	b.Helper()
	var s seen
	b.must(json.Unmarshal([]byte(b.ok(p, "show", id, "-o", "json")), &s))
	return s
}

// owner is whose a file is.
func (b *shared) owner(path string) int {
	b.Helper()
	info, err := os.Lstat(path)
	b.must(err)
	return int(info.Sys().(*syscall.Stat_t).Uid)
}

const forUsers = `
clusters:
  - {name: a, cpus: [0], slots: 4, speed: 1}
  - {name: b, cpus: [1], slots: 4, speed: 1}
intervals: {sample: 200ms}
`

func TestOneBrokerForSeveralUsers(t *testing.T) {
	b := upShared(t, forUsers)
	for _, part := range []struct {
		name string
		test func(*shared)
	}{
		{"JobsRunAsTheirOwnersAndBringFilesHome", runAsOwners},
		{"NobodySeesOrTouchesAJobOfSomebodyElse", untouchable},
		{"LinksLeadTheBrokerNowhere", noLinks},
		{"SizesAreChangedByOwners", resizedByOwner},
		{"AKilledBrokerFindsEverythingOnce", foundOnce},
	} {
		t.Run(part.name, func(t *testing.T) {
			in := *b
			in.T = t
			part.test(&in)
			b.broker = in.broker
		})
	}
}

func runAsOwners(b *shared) {
	ids := map[person]string{}
	for _, p := range []person{alice, bob} {
		dir := b.folder(p, "work")
		b.must(os.WriteFile(filepath.Join(dir, "input"), []byte(p.Name+"'s"), 0o644))
		ids[p] = b.submit(p, "#!/bin/sh\n#SBATCH -D "+dir+"\n#SBATCH -o "+b.home(p)+
			"/out.txt\nid -u; id -G; cat input; echo $HOME; id -u > made; echo more >> input\n")
	}
	for p, id := range ids {
		b.ok(p, "wait", id)
		want := fmt.Sprintf("%d\n%d\n%s's%s\n", p.ID, p.ID, p.Name, b.home(p))
		if got := b.ok(p, "logs", id); got != want {
			b.Errorf("%s's job wrote %q, want %q", p.Name, got, want)
		}
		if s := b.show(p, id); s.User != p.Name {
			b.Errorf("job %s is %s's, want %s's", id, s.User, p.Name)
		}
		for name, want := range map[string]string{"work/made": strconv.Itoa(p.ID) + "\n", "work/input": p.Name + "'smore\n",
			"out.txt": want} {
			file := filepath.Join(b.home(p), name)
			clocktest.WaitFor(b, file, func() bool { text, _ := os.ReadFile(file); return string(text) == want })
			if b.owner(file) != p.ID {
				b.Errorf("%s is that of user %d", file, b.owner(file))
			}
		}
	}
	// Whatever the broker keeps of them is closed to all.
	for _, path := range []string{"state", "state/users/20001"} {
		if info, err := os.Stat(filepath.Join(b.dir, path)); err != nil || info.Mode().Perm()&0o077 != 0 {
			b.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	attempts, err := filepath.Glob(filepath.Join(b.home(alice), ".local/state/godwit/outposts/*/*"))
	if err != nil || len(attempts) == 0 {
		b.Errorf("alice has no folder of attempts: %v", err)
	}
	for _, dir := range attempts {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 || b.owner(dir) != alice.ID {
			b.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
}

// resizedByOwner: whose job it is changes its size, and nobody else does.
func resizedByOwner(b *shared) {
	dir := b.folder(alice, "crowd")
	for _, file := range []string{"examples/jobs/crowd.py", "program/python/godwit.py"} {
		text, err := os.ReadFile(filepath.Join("../../..", file))
		b.must(err)
		b.must(os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o644))
	}
	id := b.submit(alice, "kind: malleable\nprocs: 1-4\ncheckpoint: restart\nworkdir: "+dir+
		"\nrun: python3 crowd.py 100000\n")
	processes := func(n int) func() bool {
		return func() bool { return strings.HasSuffix(b.ok(alice, "logs", id), fmt.Sprintf("processes: %d\n", n)) }
	}
	clocktest.WaitFor(b, "four processes", processes(4))
	for _, size := range []int{2, 3, 1} {
		if out, err := b.as(bob, "resize", id, "4"); err == nil {
			b.Errorf("bob may: %q", out)
		}
		b.ok(alice, "resize", id, strconv.Itoa(size))
		clocktest.WaitFor(b, fmt.Sprintf("%d processes", size), processes(size))
	}
	b.ok(alice, "cancel", id)
	clocktest.WaitFor(b, "its end", func() bool { return b.show(alice, id).State == "CANCELLED" })
}

func untouchable(b *shared) {
	id := b.submit(alice, "name: secret-name\nrun: echo secret output; sleep 600\n")
	clocktest.WaitFor(b, "it to run", func() bool { return b.show(alice, id).State == "RUNNING" })
	// By their folders agents of users are known not to be strangers to the broker.
	if len(b.agents(filepath.Join(b.home(alice), ".local/state/godwit/outposts"))) == 0 {
		b.Error("alice's agent is not called as agents are")
	}
	const none = "999999"
	for _, args := range [][]string{{"show"}, {"logs"}, {"logs", "-f"}, {"explain"}, {"cancel"}, {"migrate"},
		{"checkpoint"}, {"wait"}} {
		out, err := b.as(bob, append(args, id)...)
		nothing, wantErr := b.as(bob, append(args, none)...)
		if err == nil || wantErr == nil {
			b.Errorf("%v: bob may: %q, %v", args, out, err)
			continue
		}
		if got := strings.ReplaceAll(err.Error(), id, none); out != nothing || got != wantErr.Error() {
			b.Errorf("%v: bob is told %q, of a job that is not there %q", args, err, wantErr)
		}
	}
	for _, args := range [][]string{{"ps", "--all", "-o", "json"}, {"history", "-o", "json"}, {"clusters", "-o", "json"},
		{"ps", "--all-users"}, {"up", "--shared", "--stop"}} {
		out, err := b.as(bob, args...)
		if strings.Contains(out+fmt.Sprint(err), "secret") || (len(args) == 2 && args[0] == "ps" || args[0] == "up") &&
			err == nil {
			b.Errorf("%v tells bob %q, %v", args, out, err)
		}
	}
	// What waits for a job of somebody else waits for one that is not there.
	if out, err := b.as(bob, "run", "-d", "--after", id, "--", "true"); err == nil {
		b.Errorf("bob's job waits for alice's: %s", out)
	}
	root := person{"root", 0}
	if out := b.ok(root, "ps", "--all-users"); !strings.Contains(out, "alice") || !strings.Contains(out, "secret-name") {
		b.Errorf("root sees %q", out)
	}
	if s := b.show(alice, id); s.State != "RUNNING" {
		b.Errorf("it is %s", s.State)
	}
	b.ok(root, "cancel", id)
	if s := b.show(alice, id); s.State != "CANCELLED" {
		b.Errorf("it is %s", s.State)
	}
}

// agents are the processes of agents with a folder below this one.
func (b *shared) agents(below string) []string {
	var list []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		line, _ := os.ReadFile(f)
		if strings.Contains(string(line), "\x00agent\x00"+below) && strings.Contains(string(line), "/attempts/") {
			list = append(list, f)
		}
	}
	return list
}

// noLinks has files of a job lead elsewhere after it was submitted: to what is root's,
// and to what is bob's.
func noLinks(b *shared) {
	rooted := filepath.Join(b.dir, "root.txt")
	b.must(os.WriteFile(rooted, []byte("root's"), 0o600))
	theirs := filepath.Join(b.home(bob), "bob.txt")
	b.must(os.WriteFile(theirs, []byte("bob's"), 0o600))
	b.must(os.Chown(theirs, bob.ID, bob.ID))
	dir := b.folder(alice, "linked")
	// It waits for one that ends when the link is there.
	first := b.submit(alice, "run: sleep 600\ncheckpoint: {method: restart}\n")
	id := b.submit(alice, "#!/bin/sh\n#SBATCH -d afterany:"+first+"\n#SBATCH -D "+dir+"\n#SBATCH -o "+filepath.Join(b.home(alice), "here.txt")+
		"\necho stolen > bob.txt; echo stolen; cd; mv linked aside; ln -s "+b.home(bob)+" linked\n")
	b.must(os.Symlink(rooted, filepath.Join(b.home(alice), "here.txt")))
	b.ok(alice, "cancel", "--now", first)
	b.ok(alice, "wait", id)
	clocktest.WaitFor(b, "it to be over", func() bool { return b.show(alice, id).Why != "" })
	b.Log(b.show(alice, id).Why)
	for file, want := range map[string]string{rooted: "root's", theirs: "bob's"} {
		if text, err := os.ReadFile(file); err != nil || string(text) != want {
			b.Errorf("%s holds %q, %v", file, text, err)
		}
	}
}

func foundOnce(b *shared) {
	ids := map[person][]string{}
	const line = "echo began >> $HOME/began-$N; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $i; sleep 0.2; done; echo " +
		"ended >> $HOME/began-$N"
	for n, p := range []person{alice, bob, alice, bob} {
		ids[p] = append(ids[p], b.submit(p,
			fmt.Sprintf("envs: {N: '%d', HOME: %s}\nrun: %s\ncheckpoint: {method: restart}\n", n, b.home(p), line)))
	}
	for p, list := range ids {
		for _, id := range list {
			clocktest.WaitFor(b, "job "+id, func() bool { return strings.Contains(b.ok(p, "logs", id), "1\n") })
		}
	}
	b.end(syscall.SIGKILL)
	b.start()
	for p, list := range ids {
		for _, id := range list {
			b.ok(p, "wait", id)
			if got := b.ok(p, "logs", id); got != "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n" {
				b.Errorf("job %s wrote %q\n%s", id, got, b.ok(p, "explain", id))
			}
		}
	}
	for n, p := range []person{alice, bob, alice, bob} {
		if text, err := os.ReadFile(filepath.Join(b.home(p), fmt.Sprintf("began-%d", n))); err != nil ||
			string(text) != "began\nended\n" {
			b.Errorf("job %d: %q, %v", n, text, err)
		}
	}
}

// What the broker of a user left in a state folder is not root's to run.
func TestABrokerForAllTakesNoStateFolderOfSomebodyElse(t *testing.T) {
	for _, path := range []string{"state", "."} {
		dir, err := os.MkdirTemp("", "gw-users-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "state"), 0o755),
			os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(forUsers), 0o600),
			os.Chown(filepath.Join(dir, path), alice.ID, alice.ID)); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), sharedSetting+"="+dir, "GODWIT_TEST_BINARY="+binary)
		if out, err := cmd.CombinedOutput(); err == nil ||
			!strings.Contains(string(out), "others than this user can change") {
			t.Errorf("with %s alice's: %v, %s", path, err, out)
		}
	}
}
