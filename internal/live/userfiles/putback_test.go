package userfiles

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot"
)

// returning is a job's folder at home, and what the job made of it.
type returning struct {
	*testing.T
	own  OwnUser
	home string
}

func newReturning(t *testing.T) *returning {
	store, err := depot.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return &returning{t, OwnUser{store}, t.TempDir()}
}

func (r *returning) write(name, text string) {
	r.Helper()
	file := filepath.Join(r.home, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
}

// made is the tree of a folder with one file.
func (r *returning) made(name, text string) string {
	r.Helper()
	dir := r.TempDir()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
	// Another time than that of anything at home: only the content may tell.
	if err := os.Chtimes(filepath.Join(dir, name), time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		r.Fatal(err)
	}
	id, _, _, err := depot.PushFolder(context.Background(), dir, r.own.Depot, depot.PushOptions{})
	if err != nil {
		r.Fatal(err)
	}
	return string(id)
}

func (r *returning) putBack(x *Results) Placed {
	r.Helper()
	x.Dir, x.Aside = r.home, ".godwit-7"
	p, err := r.own.PutBack(context.Background(), x)
	if err != nil {
		r.Fatal(err)
	}
	return p
}

func (r *returning) holds(name, want string) {
	r.Helper()
	text, err := os.ReadFile(filepath.Join(r.home, name))
	if want == "" && os.IsNotExist(err) {
		return
	}
	if err != nil || string(text) != want {
		r.Errorf("%s holds %q, %v; want %q", name, text, err, want)
	}
}

func TestEqualContentNeverMakesACopy(t *testing.T) {
	r := newReturning(t)
	r.write("a.txt", "same")
	if p := r.putBack(&Results{After: r.made("a.txt", "same")}); p.Aside != 0 {
		t.Errorf("%+v", p)
	}
	r.holds("a.txt", "same")
	r.holds("a.txt.godwit-7", "")
}

func TestANamedOutputReplacesWhatWasThereBeforeTheJob(t *testing.T) {
	r := newReturning(t)
	r.write("a.txt", "old")
	p := r.putBack(&Results{After: r.made("a.txt", "new"), Outputs: []string{"a.txt"},
		Submitted: time.Now().Add(time.Minute).UnixNano()})
	if p.Aside != 0 {
		t.Errorf("%+v", p)
	}
	r.holds("a.txt", "new")
}

func TestANamedOutputSparesWhatSomebodyChangedSinceTheJobWasSubmitted(t *testing.T) {
	r := newReturning(t)
	r.write("a.txt", "edited")
	p := r.putBack(&Results{After: r.made("a.txt", "new"), Outputs: []string{"a.txt"},
		Submitted: time.Now().Add(-time.Minute).UnixNano()})
	if p.Aside != 1 || len(p.Names) != 1 || p.Names[0] != "a.txt.godwit-7" {
		t.Errorf("%+v", p)
	}
	r.holds("a.txt", "edited")
	r.holds("a.txt.godwit-7", "new")
}

func TestAFileThatIsNoNamedOutputIsReplacedOnlyIfAJobBroughtIt(t *testing.T) {
	r := newReturning(t)
	submitted := time.Now().Add(time.Minute).UnixNano()
	r.write("results/mine.txt", "mine")
	if p := r.putBack(&Results{After: r.made("results/mine.txt", "job's"), Submitted: submitted}); p.Aside != 1 {
		t.Errorf("a file of the user: %+v", p)
	}
	r.holds("results/mine.txt", "mine")
	first := r.putBack(&Results{After: r.made("results/r.txt", "first"), Submitted: submitted})
	second := &Results{After: r.made("results/r.txt", "second"), Submitted: submitted, Brought: first.Files}
	if p := r.putBack(second); p.Aside != 0 {
		t.Errorf("a file that a job brought: %+v", p)
	}
	r.holds("results/r.txt", "second")
	r.write("results/r.txt", "edited")
	third := &Results{After: r.made("results/r.txt", "third"), Submitted: submitted, Brought: first.Files}
	if p := r.putBack(third); p.Aside != 1 {
		t.Errorf("a file that a job brought and somebody changed: %+v", p)
	}
	r.holds("results/r.txt", "edited")
}
