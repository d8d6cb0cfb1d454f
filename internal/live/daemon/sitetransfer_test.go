package daemon_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
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

// twoSites is the settings of a cluster on this machine and of two that are
// reached by SSH.
func twoSites(t testing.TB, servers map[string]*sshdtest.Server) string {
	t.Helper()
	bin := filepath.Join(filepath.Dir(binary), "bin")
	text := "clusters:\n  - {name: near, cpus: [0], slots: 4}\n"
	for _, name := range []string{"leeds", "york"} {
		s := servers[name]
		options, err := json.Marshal(s.ClientOptions())
		dir := filepath.Join(s.Dir, "there")
		if err := errors.Join(err, os.MkdirAll(bin, 0o700), os.Mkdir(dir, 0o700),
			os.Symlink(bin, filepath.Join(dir, "bin"))); err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("  - {name: %s, ssh: %s, ssh_options: %s, dir: %q, slots: 4}\n", name, s.Host(), options, dir)
	}
	// Between sites that are all on this machine nothing that is measured tells them
	// apart.
	return text + "weather: {probe: off}\nintervals: {sample: 200ms}\n"
}

func TestInputsGoFromOneSiteToAnother(t *testing.T) {
	leeds, york := sshdtest.Start(t), sshdtest.Start(t)
	b := up(t, twoSites(t, map[string]*sshdtest.Server{"leeds": leeds, "york": york})).reached()
	const size = 20 << 20
	want := large(t, filepath.Join(leeds.Home, "data", "engine.db"), 1, size)
	depot := filepath.Join(b.dir, "state", "depot")
	before := sizeOf(t, depot)
	if transfer := b.transfers(summing("leeds:data/engine.db", "")); transfer["york"] <= transfer["leeds"] ||
		transfer["leeds"] > 0.1 {
		t.Errorf("bringing it is said to take %v", transfer)
	}
	if at, sent := b.sums(summing("leeds:data/engine.db", "york"), want); at != "york" || sent < size {
		t.Errorf("in %s %.0f bytes were sent the first time", at, sent)
	}
	if grown := sizeOf(t, depot) - before; grown > size/20 {
		t.Errorf("%d bytes came by the broker", grown)
	}
	b.down() // what is where is remembered
	b.start()
	if _, sent := b.sums(summing("leeds:data/engine.db", "york"), want); sent != 0 {
		t.Errorf("%.0f bytes were sent the second time", sent)
	}
	// A cluster of this machine gets it all the same, and then the depot has it.
	if _, sent := b.sums(summing("leeds:data/engine.db", "near"), want); sent < size {
		t.Errorf("%.0f bytes were sent to this machine", sent)
	}

	// From here on the broker knows how long each way took. If this machine stood still while it
	// sent something from site to site, the way by the depot is the quicker one.
	direct := b.stagingSeconds("1") < b.stagingSeconds("3")+1
	t.Logf("directly it is quicker: %v", direct)
	b.leaves(leeds, york, direct)

	// While it is under way both ends break, and the broker dies: it goes on.
	const larger = 128 << 20
	want = large(t, filepath.Join(leeds.Home, "large.db"), 2, larger)
	kept := filepath.Join(york.Dir, "there")
	before = sizeOf(t, kept)
	id := b.submit(summing("leeds:large.db", "york"))
	harms := b.harmTransfer(id, kept, before, larger/9, leeds.CutConnections, york.CutConnections,
		func() { b.down(); b.start() })
	j := b.end(id)
	if got, _, _ := strings.Cut(b.output(id, 1), " "); got != want {
		t.Errorf("it is %s, %s: %q, want %s", j.State, j.Why, got, want)
	}
	if sent := b.sent(id); harms == 3 && direct && sent > larger*3/4 {
		t.Errorf("%.0f of %d bytes were sent the last time", sent, larger)
	}
}

// stagingSeconds is how long it took to bring the inputs of a job.
func (b *bed) stagingSeconds(id string) (sum float64) {
	b.Helper()
	for _, d := range b.staged(id) {
		n, _ := d.Inputs["seconds"].(float64)
		sum += n
	}
	return sum
}

// leaves has a job leave results at several sites, directly or by the depot.
func (b *bed) leaves(leeds, york *sshdtest.Server, direct bool) {
	b.Helper()
	depot := filepath.Join(b.dir, "state", "depot")
	before := sizeOf(b, depot)
	here := filepath.Join(b.dir, "here")
	const size = 12 << 20
	spec := job("sh", "-c", fmt.Sprintf("mkdir out; head -c %d /dev/urandom >out/big.h5; echo 1 >out/a.txt; echo 2 "+
		">home; cat out/big.h5 | sha256sum", size))
	spec.Workdir, spec.On = b.TempDir(), []string{"leeds"}
	spec.Leave = []jobfile.FarOutput{{From: "out/*.h5", To: "york:runs/"}, {From: "out", To: "near:" + here + "/"},
		{From: "none*", To: "york:/x/"}}
	wrong := spec
	wrong.Leave = []jobfile.FarOutput{{From: "x", To: "hull:x"}}
	b.refuses(wrong, `outputs "hull:x"`, "cluster")
	id := b.submit(spec)
	b.end(id)
	want, _, _ := strings.Cut(b.output(id, 1), " ")
	big := filepath.Join(york.Home, "runs", "big.h5")
	for _, name := range []string{big, filepath.Join(here, "out", "a.txt"), filepath.Join(spec.Workdir, "home")} {
		b.appears(name)
	}
	text, err := os.ReadFile(big)
	if sum := sha256.Sum256(text); err != nil || hex.EncodeToString(sum[:]) != want {
		b.Errorf("%d bytes were left, which are not what was written: %v", len(text), err)
	}
	if _, err := os.Stat(filepath.Join(spec.Workdir, "out")); err == nil {
		b.Error("what was to be left came home")
	}
	if grown := sizeOf(b, depot) - before; direct && grown > size/2 {
		b.Errorf("%d bytes came by the broker", grown)
	}
	b.untilNone(filepath.Join(leeds.Dir, "there", "*", "outgoing", "*"))
	// The next runs where it is.
	cf := summing("york:runs/big.h5", "")
	cf.Place = core.CloseToFiles
	if at, sent := b.sums(cf, want); at != "york" || sent != 0 {
		b.Errorf("close to it is %s, and %.0f bytes were sent", at, sent)
	}
	// What may not be left is not lost.
	spec.Leave = []jobfile.FarOutput{{From: "home", To: "york:/proc/no/"}}
	id = b.submit(spec)
	b.end(id)
	j := b.until(id, func(j *api.Job) bool { return strings.Contains(j.Why, "could not be staged out") })
	at := j.Why[strings.LastIndex(j.Why, "leeds:")+len("leeds:"):]
	if text, err := os.ReadFile(filepath.Join(at, "home")); err != nil || string(text) != "2\n" {
		b.Errorf("%s: %q %v", j.Why, text, err)
	}
}

// appears waits for a file.
func (b *bed) appears(name string) {
	b.Helper()
	clocktest.WaitFor(b, name, func() bool { _, err := os.Stat(name); return err == nil })
}
