package weather

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/observe/weather/measured"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel/pattern"
)

func at(minutes float64) core.Time {
	return core.Time(time.Duration(minutes * float64(time.Minute)))
}

func bandwidth(from, to string) Key { return Key{measured.Mbps, from, to} }

// sites is a book with two sites of which one pair stands for all: a1 a2 a3, z1 z2.
func sites() *Book {
	b := NewBook()
	for _, h := range []string{"a1", "a2", "a3", "z1", "z2"} {
		b.PlaceHost(h, h[:1])
	}
	for i := range 10 {
		now := at(float64(i))
		b.AddValue(bandwidth("a1", "z1"), now, 40)
		b.AddValue(bandwidth("z1", "a1"), now, 20)
		b.AddValue(bandwidth("a1", "a2"), now, 100)
		b.AddValue(bandwidth("a1", "a3"), now, 60)
		b.AddValue(Key{measured.Ms, "z1", "a1"}, now, 12)
		b.AddValue(Key{What: measured.CPU, From: "a2"}, now, 0.5)
	}
	return b
}

func TestWhatWasMeasuredIsForecast(t *testing.T) {
	b := sites()
	s, ok := b.FindSeries(bandwidth("a1", "z1"), at(10), 0)
	if !ok || math.Abs(s.Next.Value-40) > 0.5 || s.Values != 10 || s.At != at(9) || s.Last != 40 || s.Uncertainty() > 0.2 {
		t.Errorf("%+v", s)
	}
	if _, ok := b.FindSeries(Key{measured.Ms, "a1", "z1"}, at(10), 0); !ok {
		t.Error("latency has a direction")
	}
	if all := b.AllSeries(at(10), 0); len(all) != 6 || all[0].What != measured.Mbps || all[4].What != measured.Ms {
		t.Errorf("%+v", all)
	}
	if d := b.ShareOfCPU("a2", at(10), time.Minute); !d.IsKnown() || math.Abs(d.Median()-0.5) > 0.05 {
		t.Errorf("%+v", d)
	}
	if b.ShareOfCPU("a2", at(60), 0).IsKnown() || b.ShareOfCPU("a1", at(10), 0).IsKnown() {
		t.Error("a share is known that is not")
	}
}

func TestWhatCannotBeIsDropped(t *testing.T) {
	b := sites()
	b.TakeFresh()
	b.AddValue(bandwidth("a1", "z1"), at(9), 50)
	b.AddValue(bandwidth("a1", "z1"), at(10), math.NaN())
	b.AddValue(bandwidth("a1", "z1"), at(10), -1)
	b.AddValue(bandwidth("a1", "a1"), at(10), 1)
	b.AddValue(bandwidth("", "a1"), at(10), 1)
	if list := b.TakeFresh(); len(list) > 0 {
		t.Errorf("%+v", list)
	}
}

func TestABookThatIsKeptIsTheSameAgain(t *testing.T) {
	b := sites()
	list := b.TakeFresh()
	if len(list) != 60 || len(b.TakeFresh()) != 0 {
		t.Fatalf("%d entries", len(list))
	}
	again := NewBook()
	again.LoadEntries(list)
	x, y := b.AllSeries(at(11), time.Minute), again.AllSeries(at(11), time.Minute)
	for i := range x {
		if x[i].Next != y[i].Next || x[i].Key != y[i].Key {
			t.Errorf("%+v, and again %+v", x[i], y[i])
		}
	}
	if len(x) != len(y) || len(again.TakeFresh()) != 0 {
		t.Error("they differ")
	}
	again.ForgetSince(at(10))
	if n := len(again.AllSeries(at(11), 0)); n != 0 {
		t.Errorf("%d series are left", n)
	}
}

func TestOthersOfTheirSitesStandForTwoHosts(t *testing.T) {
	b := sites()
	for _, c := range []struct {
		from, to string
		mbps, ms float64 // 0: not known
	}{
		{"a1", "z1", 40, 12}, {"z1", "a1", 20, 12}, {"a2", "z2", 40, 12}, {"z2", "a3", 20, 12},
		{"a1", "a2", 100, 0}, {"a2", "a1", 100, 0}, {"a2", "a3", 0, 0}, {"z1", "z2", 0, 0}, {"a1", "x", 0, 0},
	} {
		w, ok := b.ForecastBetween(c.from, c.to, at(10), 0)
		if ok != (c.mbps > 0) || ok && (math.Abs(w.Mbps.Median()/c.mbps-1) > 0.05 || math.Abs(w.Ms-c.ms) > 0.5) {
			t.Errorf("%s to %s: %v %v, want %v", c.from, c.to, w.Mbps.Median(), w.Ms, c.mbps)
		}
	}
}

func TestTheGraphHasWhatBothDirectionsHave(t *testing.T) {
	g := sites().NetworkGraph([]string{"a1", "a2", "a3", "z2"}, at(10), 0)
	pairs, err := g.WidestBandwidths()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		i, j int
		mbps float64
	}{{0, 1, 100}, {0, 2, 60}, {1, 2, 60}, {0, 3, 20}, {2, 3, 20}} {
		if got := pairs.PairBandwidth(c.i, c.j); math.Abs(got/c.mbps-1) > 0.05 {
			t.Errorf("%s to %s: %v, want %v", g.Hosts[c.i], g.Hosts[c.j], got, c.mbps)
		}
	}
	if len(g.CPU) != 4 || math.Abs(g.CPU[1]-0.5) > 0.02 || g.CPU[0] != 1 {
		t.Errorf("%v", g.CPU)
	}
	p, err := pattern.MakeNamed("ring", 3)
	if err != nil {
		t.Fatal(err)
	}
	sel, err := nodesel.SelectBy("exact", pairs, p, nodesel.Options{Groups: 1}, 1)
	if err != nil || len(sel.Groups) == 0 {
		t.Fatal(sel, err)
	}
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAFileStandsInForWhatMayNotBeMeasured(t *testing.T) {
	platform := "clusters:\n  - {name: uh, hosts: 2, link: {mbps: 1000, ms: 0.1}}\n  - {name: utk, hosts: 1, link: " +
		"{mbps: 1000, ms: 0.1}}\nlinks:\n  - {a: uh, b: utk, mbps: 45, ms: 20}\n"
	for _, c := range []struct {
		file     string
		from, to string
		mbps, ms float64
	}{
		{write(t, "p.yaml", platform), "uh1", "utk1", 45, 20.2},
		{write(t, "p.yaml", platform), "uh", "utk", 45, 20},
		{write(t, "g.json", `{"hosts":["a","b"],"routers":["r"],"links":[{"a":"a","b":"r","mbps":10,"ms":1},{"a":"r","b":"b","mbps":5,"ms":0.5}]}`), "a", "b", 5, 1.5},
		{"../../../examples/networks/two-sites.json", "leeds1", "york2", 45, 4.2},
		{write(t, "m.csv", "a,b\n0,7\n7,0\n"), "b", "a", 7, 0},
		{write(t, "m.csv", "a,b\n0,7\n7,0\n"), "b", "c", 0, 0},
	} {
		b := NewBook()
		if err := b.ReadDescription(c.file); err != nil {
			t.Fatal(err)
		}
		w, ok := b.ForecastBetween(c.from, c.to, 0, 0)
		if ok != (c.mbps > 0) || ok &&
			(math.Abs(w.Mbps.Median()-c.mbps) > 1e-6*c.mbps || math.Abs(w.Ms-c.ms) > 1e-6 || w.At != 0) {
			t.Errorf("%s: %s to %s is %v, %v ms", filepath.Base(c.file), c.from, c.to, w.Mbps.Median(), w.Ms)
		}
		b.AddValue(bandwidth(c.from, c.to), at(1), 3)
		if w, _ := b.ForecastBetween(c.from, c.to, at(1), 0); math.Abs(w.Mbps.Median()-3) > 0.5 {
			t.Errorf("what was measured does not count: %v", w.Mbps.Median())
		}
	}
	for _, bad := range []string{write(t, "x", ""), write(t, "y", "clusters: 7\n"), "/no/such/file",
		write(t, "z", "<platform"), write(t, "w", `{"hosts":["a"]}`)} {
		err := NewBook().ReadDescription(bad)
		var e *badinput.Error
		if !errors.As(err, &e) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestWhatWasMeasuredLongAgoCountsLessThanADescription(t *testing.T) {
	b := sites()
	if err := b.ReadDescription(write(t, "m.csv", "a1,a2,z1,z2\n0,7,8,9\n7,0,8,9\n8,8,0,9\n9,9,9,0\n")); err != nil {
		t.Fatal(err)
	}
	for i := range 10 { // a way that is measured every three hours
		b.AddValue(bandwidth("a2", "z2"), at(float64(180*(i-9))), 70)
	}
	for _, c := range []struct {
		from, to string
		minutes  float64
		mbps     float64
	}{
		{"a1", "a2", 10, 100}, {"a1", "a2", 24, 100}, {"a1", "a2", 25, 7}, {"a2", "a1", 20000, 7},
		{"a1", "z1", 10, 40}, {"a1", "z1", 25, 8}, {"a1", "z2", 10, 40}, {"a1", "z2", 25, 9},
		{"a2", "z2", 25, 70}, {"a2", "z2", 700, 70}, {"a2", "z2", 725, 9},
		{"a1", "a3", 20000, 60}, // there is nothing else
	} {
		w, ok := b.ForecastBetween(c.from, c.to, at(c.minutes), 0)
		if !ok || math.Abs(w.Mbps.Median()/c.mbps-1) > 0.05 {
			t.Errorf("%s to %s after %v minutes: %v, want %v", c.from, c.to, c.minutes, w.Mbps.Median(), c.mbps)
		}
	}
	fresh, _ := b.ForecastBetween("a1", "a3", at(10), 0)
	old, _ := b.ForecastBetween("a1", "a3", at(25), 0)
	if fresh.Mbps.Quantile(0.9) >= old.Mbps.Quantile(0.9) {
		t.Error("what was measured long ago is as certain as what was of late")
	}
	if g := b.NetworkGraph([]string{"a1", "a2"}, at(25), 0); g.CPU != nil {
		t.Errorf("the share of a processor of 16 minutes ago counts: %v", g.CPU)
	}
}

func TestADescriptionNamesHostsAndNotTheirFrontEnds(t *testing.T) {
	b := NewBook()
	if err := b.ReadDescription(write(t, "p.yaml",
		"clusters:\n  - {name: uh, hosts: 2}\n  - {name: utk, hosts: 1}\nlinks:\n  - {a: uh, b: utk, mbps: 45, ms: 20}\n")); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(b.DescribedHosts(), " "); got != "uh1 uh2 utk1" {
		t.Errorf("its hosts are %s", got)
	}
}

func BenchmarkAdd(b *testing.B) {
	book := NewBook()
	n := 0
	for b.Loop() {
		n++
		book.AddValue(bandwidth("a", "b"), at(float64(n)), float64(50+n%17))
		if n%1000 == 0 {
			book.TakeFresh()
		}
	}
}

func BenchmarkGraphOf100(b *testing.B) {
	book := NewBook()
	var hosts []string
	for i := range 100 {
		hosts = append(hosts, "h"+string(rune('a'+i/10))+string(rune('a'+i%10)))
		book.PlaceHost(hosts[i], "s"+hosts[i][1:2])
		for j := range i {
			if i/10 == j/10 || i%10+j%10 == 0 {
				for m := range 20 {
					book.AddValue(bandwidth(hosts[i], hosts[j]), at(float64(m)), 50)
				}
			}
		}
	}
	for b.Loop() {
		book.NetworkGraph(hosts, at(20), time.Minute)
	}
}
