package userfiles

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/httpdepot"
)

// This test program is also the process that does errands.
func TestMain(m *testing.M) {
	if os.Args[len(os.Args)-1] == Subcommand {
		os.Exit(ServeRequest())
	}
	os.Exit(m.Run())
}

const alice = 20001

// world is a folder of alice's, a depot that she is served, and a hand of hers.
type world struct {
	*testing.T
	dir   string // hers
	depot *depot.Store
	hand  OtherUser
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "gw-hand-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := &world{T: t, dir: filepath.Join(dir, "alice")}
	w.must(os.Chmod(dir, 0o755))
	w.must(os.Mkdir(w.dir, 0o700))
	w.must(os.Chown(w.dir, alice, alice))
	if w.depot, err = depot.Open(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(os.Args[0])
	w.must(err)
	w.must(os.WriteFile(filepath.Join(dir, "program"), program, 0o755)) // it is a program
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	w.must(err)
	w.must(os.Chmod(socket, 0o666))
	srv := &http.Server{Handler: httpdepot.NewHandler(w.depot), ReadHeaderTimeout: time.Minute}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _, _ = srv.Close(), w.depot.Close() })
	w.hand = OtherUser{Command: []string{filepath.Join(dir, "program")}, Broker: socket, As: func(c *exec.Cmd) {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: alice, Gid: alice}
		c.Dir, c.Env = w.dir, []string{}
	}}
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// holds looks at a file of alice's.
func (w *world) holds(name, want string) {
	w.Helper()
	file := filepath.Join(w.dir, name)
	text, err := os.ReadFile(file)
	if err != nil || string(text) != want {
		w.Errorf("%s holds %q, %v; want %q", name, text, err, want)
		return
	}
	info, err := os.Lstat(file)
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != alice {
		w.Errorf("%s is not alice's: %v", name, err)
	}
}

func TestWhatIsDoneForAUserIsDoneByAProcessOfTheirs(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	after := t.TempDir()
	w.must(os.WriteFile(filepath.Join(after, "result"), []byte("42"), 0o600))
	w.must(os.WriteFile(filepath.Join(after, "scratch"), []byte("…"), 0o600))
	id, _, _, err := depot.PushFolder(ctx, after, w.depot, depot.PushOptions{})
	w.must(err)
	w.must(os.Mkdir(filepath.Join(w.dir, "work"), 0o700))
	w.must(os.Chown(filepath.Join(w.dir, "work"), alice, alice))
	placed, err := w.hand.PutBack(ctx,
		&Results{Dir: filepath.Join(w.dir, "work"), After: string(id), Outputs: []string{"result"}, Aside: ".godwit-1"})
	if err != nil || placed.Bytes != 2 || placed.Aside != 0 {
		t.Errorf("%+v, %v", placed, err)
	}
	w.holds("work/result", "42")
	if _, err := os.Stat(filepath.Join(w.dir, "work", "scratch")); err == nil {
		t.Error("what nobody wants is there")
	}

	out := &Output{File: filepath.Join(w.dir, "out", "log"), Temporary: ".godwit-1"}
	large := strings.Repeat("a line of output\n", 100_000)
	w.must(w.hand.Write(ctx, out, "", strings.NewReader(large)))
	w.holds("out/log", large)
	more := &Output{File: filepath.Join(w.dir, "out", "all"), Append: true}
	marker := filepath.Join(t.TempDir(), "marks", "m") // where alice gets nowhere
	for range 2 {
		w.must(w.hand.Write(ctx, more, marker, strings.NewReader("one\ntwo\n")))
	}
	w.holds("out/all", "one\ntwo\n")

	tree, err := w.hand.GatherFiles(ctx,
		[]Copy{{File: more.File, As: "sub/all"}, {File: filepath.Join(w.dir, "gone"), As: "gone"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := depot.LoadTree(ctx, w.depot, depot.ID(tree)); err != nil || len(got.Entries) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	if tree, err := w.hand.GatherFiles(ctx, []Copy{{File: filepath.Join(w.dir, "gone"), As: "gone"}}); err != nil ||
		tree != "" {
		t.Errorf("%q, %v", tree, err)
	}
}

func TestAProcessOfAUserGetsNoFurtherThanTheUser(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	rooted := filepath.Join(filepath.Dir(w.dir), "root")
	w.must(os.WriteFile(rooted, []byte("root's"), 0o600))
	w.must(os.Symlink(rooted, filepath.Join(w.dir, "link")))
	for _, file := range []string{filepath.Join(w.dir, "link"), rooted, "/etc/godwit-was-here"} {
		for _, add := range []bool{false, true} {
			if err := w.hand.Write(ctx, &Output{File: file, Temporary: ".x", Append: add}, filepath.Join(t.TempDir(), "m"),
				strings.NewReader("stolen")); err == nil {
				t.Errorf("%s was written, append %v", file, add)
			}
		}
	}
	if tree, err := w.hand.GatherFiles(ctx, []Copy{{File: filepath.Join(w.dir, "link"), As: "x"}}); err == nil {
		t.Errorf("root's file is in %q", tree)
	}
	if _, err := w.hand.GatherFiles(ctx, []Copy{{File: "/etc/hostname", As: "../../../x"}}); err == nil {
		t.Error("a file goes wherever it is told to")
	}
	if text, err := os.ReadFile(rooted); err != nil || string(text) != "root's" {
		t.Errorf("%q, %v", text, err)
	}
}

// However an errand ends, it is told why.
func TestAnErrandThatCannotBeDoneSaysWhy(t *testing.T) {
	w := newWorld(t)
	_, err := w.hand.PutBack(context.Background(), &Results{Dir: w.dir, After: strings.Repeat("ab", 32)})
	if err == nil || !strings.Contains(err.Error(), "depot") {
		t.Errorf("%v", err)
	}
	bad := []byte("no list of files")
	w.must(w.depot.PutChunk(context.Background(), chunk.IDOf(bad), bad))
	_, err = w.hand.PutBack(context.Background(), &Results{Dir: w.dir, After: string(chunk.IDOf(bad))})
	if !errors.Is(err, depot.ErrBadTree) {
		t.Errorf("results that are no tree: %v", err)
	}
	broken := w.hand
	broken.Command = []string{"/bin/false"}
	if err := broken.Write(context.Background(), &Output{File: "x"}, "", bytes.NewReader(nil)); err == nil {
		t.Error("nobody did it, and nobody says so")
	}
}
