package platform

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

func mustParse(t testing.TB, text string) *Platform {
	t.Helper()
	p, err := Parse("p.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustLoad(t testing.TB, path string) *Platform {
	t.Helper()
	p, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func host(t testing.TB, p *Platform, name string) RouteEnd {
	t.Helper()
	if cluster, ok := strings.CutPrefix(name, "@"); ok { // the front end of a cluster
		c, ok := p.FindCluster(cluster)
		if !ok {
			t.Fatalf("no cluster %q", cluster)
		}
		return FrontEndOf(c)
	}
	at, ok := p.FindHost(name)
	if !ok {
		t.Fatalf("no host %q", name)
	}
	return at
}

func linkNames(p *Platform, r Route) []string {
	names := []string{}
	for _, l := range r.Links {
		names = append(names, p.Links[l].Name)
	}
	return names
}

// wantRoute checks a route by the names of its links.
func wantRoute(t *testing.T, p *Platform, from, to string, ms, mbps float64, links ...string) {
	t.Helper()
	r, ok := p.FindRoute(host(t, p, from), host(t, p, to))
	if !ok {
		t.Errorf("%s → %s: no route", from, to)
		return
	}
	if got := linkNames(p, r); !slices.Equal(got, links) {
		t.Errorf("%s → %s crosses\n %v, want\n %v", from, to, got, links)
	}
	if !near(r.Ms, ms) || !near(r.Mbps, mbps) {
		t.Errorf("%s → %s: %g ms, %g Mbit/s, want %g and %g", from, to, r.Ms, r.Mbps, ms, mbps)
	}
}

func near(a, b float64) bool { return a == b || max(a-b, b-a) <= 1e-12*max(a, b) }

func TestTheExamplesDescribeWhatTheirCommentsSay(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "examples", "platforms")
	kth := mustLoad(t, filepath.Join(dir, "kth.yaml"))
	if kth.Name != "kth" || len(kth.Clusters) != 1 || kth.TotalProcs() != 100 || kth.Clusters[0].Local != LocalNone {
		t.Errorf("kth.yaml: %q, %d clusters, %d processors", kth.Name, len(kth.Clusters), kth.TotalProcs())
	}
	das := mustLoad(t, filepath.Join(dir, "das3.yaml"))
	var sizes []int
	for _, c := range das.Clusters {
		sizes = append(sizes, c.Procs)
	}
	if !slices.Equal(sizes, []int{85, 41, 68, 46, 32}) {
		t.Errorf("das3.yaml has clusters of %v processors", sizes)
	}
	grid := mustLoad(t, filepath.Join(dir, "grid5.yaml"))
	if len(grid.Clusters) != 5 || len(grid.Files) != 3 {
		t.Errorf("grid5.yaml has %d clusters and %d files", len(grid.Clusters), len(grid.Files))
	}
	for _, p := range []*Platform{das, grid} {
		for a := range p.Clusters {
			for b := range p.Clusters {
				if _, ok := p.FindRoute(FrontEndOf(a), FrontEndOf(b)); !ok {
					t.Errorf("%s: no route from cluster %d to %d", p.Name, a, b)
				}
			}
		}
	}
}

func TestAMissingFileIsTheUsersMistakeInOneLine(t *testing.T) {
	_, err := Load("no/such/file.yaml")
	if !badinput.Is(err) {
		t.Fatalf("%v is not a badinput error", err)
	}
	want := "cannot read no/such/file.yaml: no such file or directory"
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
}

func TestAByteOrderMarkIsSkipped(t *testing.T) {
	mustParse(t, "\ufeffclusters: [{name: a, hosts: 1}]")
}
