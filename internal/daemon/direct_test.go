package daemon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver/remote/sshdtest"
)

// twoSites is the settings of a cluster on this machine and of two that are
// reached by SSH.
func twoSites(t testing.TB, servers map[string]*sshdtest.Server) string {
	t.Helper()
	bin := filepath.Join(filepath.Dir(binary), "bin")
	text := "clusters:\n  - {name: near, cpus: [0], slots: 4}\n"
	for _, name := range []string{"leeds", "york"} {
		s := servers[name]
		options, err := json.Marshal(s.Options())
		dir := filepath.Join(s.Dir, "there")
		if err := errors.Join(err, os.MkdirAll(bin, 0o700), os.Mkdir(dir, 0o700), os.Symlink(bin, filepath.Join(dir, "bin"))); err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("  - {name: %s, ssh: %s, ssh_options: %s, dir: %q, slots: 4}\n", name, s.Host(), options, dir)
	}
	return text + "intervals: {sample: 200ms}\n"
}

func TestInputsGoFromOneSiteToAnother(t *testing.T) {
	leeds, york := sshdtest.Start(t), sshdtest.Start(t)
	b := up(t, twoSites(t, map[string]*sshdtest.Server{"leeds": leeds, "york": york}))
	const size = 20 << 20
	want := large(t, filepath.Join(leeds.Home, "data", "engine.db"), 1, size)
	depot := filepath.Join(b.dir, "state", "depot")
	before := sizeOf(t, depot)
	if transfer := b.transfers(summing("leeds:data/engine.db", "")); transfer["york"] < 1 || transfer["york"] > 3 || transfer["leeds"] > 0.1 {
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

	// While it is under way both ends break, and the broker dies: it goes on.
	const larger = 64 << 20
	want = large(t, filepath.Join(leeds.Home, "large.db"), 2, larger)
	kept := filepath.Join(york.Dir, "there")
	id := b.submit(summing("leeds:large.db", "york"))
	for n, harm := range []func(){leeds.Cut, york.Cut, func() { b.down(); b.start() }} {
		before := sizeOf(t, kept)
		for end := time.Now().Add(time.Minute); sizeOf(t, kept) < before+larger/8; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("nothing comes the %d. time: %v", n+1, b.staged(id))
			}
		}
		harm()
	}
	j := b.end(id)
	if got, _, _ := strings.Cut(b.output(id, 1), " "); got != want {
		t.Errorf("it is %s, %s: %q, want %s", j.State, j.Why, got, want)
	}
	if sent := b.sent(id); sent > larger*3/4 {
		t.Errorf("%.0f of %d bytes were sent the last time", sent, larger)
	}
}
