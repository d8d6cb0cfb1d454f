package daemon_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/driver/remote/sshdtest"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// large makes a file that cannot be compressed, and says what its sum is.
func large(t testing.TB, path string, seed byte, size int) string {
	t.Helper()
	data := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(data)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// summing is a job that tells the sum of an input.
func summing(from, on string) jobfile.Job {
	spec := job("sh", "-c", "sha256sum <in")
	spec.Far = []jobfile.FarInput{{From: from, As: "in"}}
	if on != "" {
		spec.On = []string{on}
	}
	return spec
}

// sums runs such a job, and says where it ran and how many bytes were sent for it.
func (b *bed) sums(spec jobfile.Job, want string) (where string, sent float64) {
	b.Helper()
	id := b.submit(spec)
	j := b.end(id)
	if got, _, _ := strings.Cut(b.output(id, 1), " "); j.State != core.Done || got != want {
		b.Errorf("%v is %s, %s: %q, want %s", spec.Far, j.State, j.Why, got, want)
	}
	return j.Cluster, b.sent(id)
}

// sent is how many bytes were sent for a job.
func (b *bed) sent(id string) (sum float64) {
	b.Helper()
	for _, d := range b.staged(id) {
		n, _ := d.Inputs["sent"].(float64)
		sum += n
	}
	return sum
}

// staged is what was said about the inputs of a job.
func (b *bed) staged(id string) (list []api.Decision) {
	b.Helper()
	all, err := b.client.ExplainJob(context.Background(), id)
	if err != nil {
		b.Fatal(err)
	}
	for _, d := range all {
		if d.Kind == "stage" {
			b.Logf("job %s: %s: %s", id, d.Choice, d.Why)
			list = append(list, d)
		}
	}
	return list
}

func TestInputsAtOtherSites(t *testing.T) {
	s := sshdtest.Start(t)
	b := up(t, nearAndFar(t, s, ", slots: 4")).reached()
	const size = 6 << 20
	theirs := large(t, filepath.Join(s.Home, "data", "engine.db"), 1, size)
	here := filepath.Join(t.TempDir(), "wing.msh")
	ours := large(t, here, 2, size)

	b.refuses(summing("york:/x", ""), `inputs "york:/x"`, "cluster", "near")
	b.refuses(summing("far:data/none", ""), `inputs "far:data/none": no such file`, "no such file")
	b.refuses(summing("depot:"+strings.Repeat("0a", 32), ""), "something that is in the depot")

	// A file is used where it is, and brought elsewhere once.
	if at, sent := b.sums(summing("far:data/engine.db", "far"), theirs); at != "far" || sent != 0 {
		t.Errorf("in %s %.0f bytes were sent", at, sent)
	}
	transfer := b.transfers(summing("far:~/data/engine.db", ""))
	if transfer["far"] > 0.1 || transfer["near"] <= transfer["far"] {
		t.Errorf("bringing it is said to take %v", transfer)
	}
	cf := summing("far:data/engine.db", "")
	cf.Place = core.CloseToFiles
	if at, sent := b.sums(cf, theirs); at != "far" || sent != 0 {
		t.Errorf("close to files is %s, and %.0f bytes were sent", at, sent)
	}
	if _, sent := b.sums(summing("far:data/engine.db", "near"), theirs); sent < size {
		t.Errorf("%.0f bytes were sent the first time", sent)
	}
	if _, sent := b.sums(summing("far:"+filepath.Join(s.Home, "data", "engine.db"), "near"), theirs); sent > 0 {
		t.Errorf("%.0f bytes were sent the second time", sent)
	}
	// The same the other way.
	cf = summing("near:"+here, "")
	cf.Place = core.CloseToFiles
	if at, sent := b.sums(cf, ours); at != "near" || sent != 0 {
		t.Errorf("close to files is %s, and %.0f bytes were sent", at, sent)
	}
	if _, sent := b.sums(summing("near:"+here, "far"), ours); sent < 2*size {
		t.Errorf("%.0f bytes were sent the first time", sent)
	}
	b.down() // what is where is remembered
	b.start()
	if _, sent := b.sums(summing("near:"+here, "far"), ours); sent > 0 {
		t.Errorf("%.0f bytes were sent the second time", sent)
	}
	if transfer := b.transfers(summing("near:"+here, "")); transfer["far"] > 0.2 {
		t.Errorf("bringing it once more is said to take %v", transfer)
	}
	// What has changed is brought anew.
	if _, sent := b.sums(summing("near:"+here, "far"), large2(t, here)); sent < size {
		t.Errorf("%.0f bytes were sent of another file", sent)
	}

	// What is damaged in the depot is brought anew, and never used.
	damage(t, filepath.Join(b.dir, "state", "depot"))
	id := b.submit(summing("far:data/engine.db", "near"))
	if j := b.end(id); j.State != core.Done || !strings.HasPrefix(b.output(id, 1), theirs) {
		t.Errorf("it is %s, %s: %q", j.State, j.Why, b.output(id, 1))
	}
	if sent := b.sent(id); sent == 0 {
		t.Error("nothing was sent in place of what was damaged")
	}
}

func large2(t testing.TB, path string) string {
	t.Helper()
	return large(t, path, 3, 5<<20)
}

// refuses submits a job that is refused.
func (b *bed) refuses(spec jobfile.Job, want ...string) {
	b.Helper()
	_, err := b.client.SubmitJob(context.Background(), &api.Submit{Job: spec})
	for _, w := range want {
		if err == nil || !strings.Contains(err.Error(), w) || strings.Contains(err.Error(), "\n") {
			b.Errorf("%v: %v, want %q", spec.Far, err, w)
		}
	}
}

// transfers is what a quote says of bringing the inputs.
func (b *bed) transfers(spec jobfile.Job) map[string]float64 {
	b.Helper()
	quotes, err := b.client.QuoteJob(context.Background(), &api.Submit{Job: spec})
	if err != nil {
		b.Fatal(err)
	}
	list := map[string]float64{}
	for _, q := range quotes {
		if q.TransferS != nil {
			list[q.Cluster] = *q.TransferS
		}
	}
	b.Logf("%v", list)
	return list
}

// damage changes bytes in the middle of all large packs of a depot.
func damage(t testing.TB, dir string) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil || info.Size() < 1<<20 {
			return err
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		n++
		for at := int64(1 << 18); at < info.Size(); at += 1 << 20 {
			if _, err := f.WriteAt([]byte("damaged in the middle"), at); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || n == 0 {
		t.Fatal(n, err)
	}
}

func TestATransferThatIsCutOffGoesOn(t *testing.T) {
	s := sshdtest.Start(t)
	b := up(t, nearAndFar(t, s, ", slots: 4")).reached()
	const size = 160 << 20
	want := large(t, filepath.Join(s.Home, "engine.db"), 1, size)
	kept := filepath.Join(b.dir, "state", "depot")
	before := sizeOf(t, kept)
	id := b.submit(summing("far:engine.db", "near"))
	harms := b.harmTransfer(id, kept, before, size/9, s.CutConnections, func() { b.down(); b.start() }, s.CutConnections)
	j := b.end(id)
	if got, _, _ := strings.Cut(b.output(id, 1), " "); j.State != core.Done || got != want {
		t.Errorf("it is %s, %s: %q", j.State, j.Why, got)
	}
	for _, d := range b.explained(id, "place", "") {
		t.Log(d.Choice, d.Why)
	}
	waited := false
	for _, d := range b.staged(id) {
		waited = waited || strings.HasPrefix(d.Choice, "waits for far:engine.db")
	}
	if sent := b.sent(id); harms == 3 && (!waited || sent > size*3/4) {
		t.Errorf("it waited is %v, and %.0f of %d bytes were sent the last time", waited, sent, size)
	}

	// Who is cancelled meanwhile does not wait for it.
	large(t, filepath.Join(s.Home, "other.db"), 2, 1<<20)
	s.SetDown(true)
	id = b.submit(summing("far:other.db", "near"))
	b.until(id, func(j *api.Job) bool { return j.State == core.Staging })
	if _, err := b.client.CancelJob(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	if j := b.end(id); j.State != core.Cancelled {
		t.Errorf("it is %s", j.State)
	}

	// What nobody could look at is believed to be there, until somebody can.
	id = b.submit(summing("far:none.db", "near"))
	b.until(id, func(j *api.Job) bool { return j.State == core.Staging })
	s.SetDown(false)
	if j := b.end(id); j.State != core.Failed || !strings.Contains(j.Why, "far:none.db: ") ||
		!strings.Contains(j.Why, "no such file") {
		t.Errorf("it is %s: %s", j.State, j.Why)
	}
	b.staged(id)
}

// harmTransfer does harm, one after the other, each time that so many bytes more have
// come into a folder. It says how often: a machine that stands still for a moment may
// find all of the file there.
func (b *bed) harmTransfer(id, kept string, before, step int64, harms ...func()) int {
	b.Helper()
	for n, harm := range harms {
		over := false
		clocktest.WaitFor(b, fmt.Sprintf("%d bytes before the %d. disturbance", step, n+1), func() bool {
			if sizeOf(b, kept) >= before+step {
				return true
			}
			j, err := b.client.GetJob(context.Background(), id)
			over = err == nil && j.IsOver()
			return over
		}, func() string { return fmt.Sprint(b.staged(id)) })
		if over {
			b.Logf("all of it has come before it was disturbed the %d. time", n+1)
			return n
		}
		harm()
		before = sizeOf(b, kept)
	}
	return len(harms)
}

func sizeOf(t testing.TB, dir string) (sum int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // it is being worked with
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", dir, err))
	}
	return sum
}
