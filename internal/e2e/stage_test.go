package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
)

// inputsGoEverywhere has jobs of all clusters read a file that one of them has.
func inputsGoEverywhere(b *bed) {
	b.directly()
	ids := b.submit("run: head -c 3000000 /dev/urandom > ~/engine.db; sha256sum < ~/engine.db\non: [north]\n")
	b.until("the file", func() bool { return b.all()[ids[0]].over() })
	want := b.godwit("logs", ids[0])
	if !strings.HasSuffix(want, " -\n") {
		b.t.Fatalf("no file was made: %q", want)
	}
	for _, again := range []bool{false, true} {
		var jobs []string
		for _, c := range clusters {
			jobs = append(jobs, b.submit("run: sha256sum < engine.db\ninputs: [north:engine.db]\non: ["+c+"]\n")...)
		}
		b.until("the jobs to end", func() bool {
			all := b.all()
			for _, id := range jobs {
				if !all[id].over() {
					return false
				}
			}
			return true
		})
		for i, id := range jobs {
			if got := b.godwit("logs", id); got != want {
				b.t.Errorf("job %s on %s: %q, want %q\n%s", id, clusters[i], got, want, b.godwit("explain", id))
			}
			why := b.godwit("explain", id)
			if sent := strings.Contains(why, "had to be sent"); clusters[i] == "north" &&
				!strings.Contains(why, "used where it is") ||
				clusters[i] != "north" && again && sent {
				b.t.Errorf("job %s on %s, again is %v:\n%s", id, clusters[i], again, why)
			}
		}
	}
}

// directly has files go from one cluster to another: past the broker, also when
// that breaks, and by way of it when there is no other.
func (b *bed) directly() {
	const size = 24 << 20
	kept := filepath.Join(b.lab.Dir, "home")
	// meanwhile is told how much there was in all homes before.
	moves := func(name, from, to string, meanwhile func(begun int64)) (passed int64, why string) {
		b.t.Helper()
		made := b.submit(fmt.Sprintf("run: head -c %d /dev/urandom > ~/%s; sha256sum < ~/%s\non: [%s]\n", size, name, name,
			from))[0]
		b.wait(made)
		before, begun := b.passed(), sizeOf(kept)
		id := b.submit(fmt.Sprintf("run: sha256sum < %s\ninputs: ['%s:%s']\non: [%s]\n", name, from, name, to))[0]
		meanwhile(begun)
		b.wait(id)
		why = b.godwit("explain", id)
		if got, want := b.godwit("logs", id), b.godwit("logs", made); got != want {
			b.t.Errorf("%s arrived as %q, want %q\n%s", name, got, want, why)
		}
		return b.passed() - before, why
	}
	// movesDirectly does so over the first way that is expected to be faster than through the broker. Each is one over
	// which nothing has gone, but sensors have measured it, perhaps while the hosts at its ends had better things to do.
	movesDirectly := func(name, from string, to []string, meanwhile func(begun int64)) {
		b.t.Helper()
		for _, cluster := range to {
			passed, why := moves(name+"."+cluster, from, cluster, meanwhile)
			if _, chosen, _ := strings.Cut(why, "route: "); strings.HasPrefix(chosen,
				fmt.Sprintf("%s:%s.%s comes to %s through the broker", from, name, cluster, cluster)) {
				b.t.Logf("%s from %s to %s is expected to be slower directly:\n%s", name, from, cluster, why)
				continue
			}
			b.t.Logf("%s from %s to %s: %d of %d bytes came by the broker", name, from, cluster, passed, size)
			if passed > size/4 || !strings.Contains(why, "without the broker in between") ||
				strings.Contains(why, "did not come from") {
				b.t.Errorf("%d bytes came by the broker:\n%s", passed, why)
			}
			return
		}
		b.t.Errorf("from %s to none of %v does anything go directly", from, to)
	}
	movesDirectly("direct.db", "north", []string{"south", "east1", "east2"}, func(int64) {})
	// Whoever sends it is killed in the middle.
	movesDirectly("killed.db", "west", []string{"south", "east1", "east2"}, func(begun int64) {
		clocktest.PollLoop{Limit: patience}.WaitFor(b.t, "a quarter of the file", func() bool {
			now := sizeOf(kept)
			begun = min(begun, now) // what was left of jobs before is removed when there is time
			return now >= begun+size/4
		})
		b.on("west0", "kill -9 $(pgrep -f '[g]odwit outpost')")
	})
	// Nothing that is sent there comes back.
	target, err := b.lab.FindHost("west0")
	if err != nil {
		b.t.Fatal(err)
	}
	b.on("north0", "ip route add blackhole "+target.Address.String()+"/32")
	passed, why := moves("blocked.db", "north", "west", func(int64) {})
	b.on("north0", "ip route del blackhole "+target.Address.String()+"/32")
	b.t.Logf("blocked: %d of %d bytes came by the broker", passed, size)
	if passed < 2*size { // it is tried in vain, or a probe was before
		b.t.Errorf("%d bytes came by the broker:\n%s", passed, why)
	}
}

// passed is how many bytes have gone through the link of the broker's host.
func (b *bed) passed() (sum int64) {
	b.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/dev", b.lab.Head.Init.PID))
	if err != nil {
		b.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 9 && f[0] == "eth0:" {
			var in, out int64
			if _, err := fmt.Sscan(f[1]+" "+f[9], &in, &out); err != nil {
				b.t.Fatal(err)
			}
			sum = in + out
		}
	}
	return sum
}

// sizeOf is how much is in a folder that is being worked with.
func sizeOf(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}
