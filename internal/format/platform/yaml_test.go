package platform

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const everything = `
name: all
clusters:
  - name: uh
    hosts: 6
    cores: 2
    speed: 1.5
    memory: 4G
    link: {mbps: 100, ms: 0.2}
    local: easy
    queue: 4
    keep_free: 3
    grow_free: 2
    reserve: true
  - name: utk
    cores: 4
    speed: 0.5
    hosts:
      - {name: torc1, cores: 1, speed: 2, memory: 512M}
      - {}
      - name: torc3
links:
  - {a: uh, b: utk, mbps: 45, ms: 20}
files:
  - {name: a.dat, size: 1.5GB, at: [utk, uh]}
  - {name: empty, size: 0, at: [uh]}
`

func TestEveryFieldOfTheYAMLIsRead(t *testing.T) {
	p := mustParse(t, everything)
	uh := Cluster{Name: "uh", Procs: 12, Local: LocalEASY, Queue: 4, KeepFree: 3, GrowFree: 2, Reserves: true}
	for i := range 6 {
		uh.Hosts = append(uh.Hosts, Host{fmt.Sprintf("uh%d", i+1), 2, 1.5, 4 << 30})
	}
	utk := Cluster{Name: "utk", Procs: 9, Hosts: []Host{
		{"torc1", 1, 2, 512 << 20},
		{"utk2", 4, 0.5, 0},
		{"torc3", 4, 0.5, 0},
	}}
	if diff := cmp.Diff([]Cluster{uh, utk}, p.Clusters); diff != "" {
		t.Errorf("clusters (-want +got):\n%s", diff)
	}
	files := []File{{"a.dat", 1_500_000_000, []int{0, 1}}, {"empty", 0, []int{0}}}
	if diff := cmp.Diff(files, p.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if p.Name != "all" || p.TotalProcs() != 21 || p.Notes != nil {
		t.Errorf("name %q, %d processors, notes %v", p.Name, p.TotalProcs(), p.Notes)
	}
	wantRoute(t, p, "uh1", "utk2", 20.3, 45, "uh1.up", "uh>utk", "utk2.down")
	wantRoute(t, p, "torc1", "uh6", 20.3, 45, "torc1.up", "utk>uh", "uh6.down")
	wantRoute(t, p, "uh1", "uh2", 0.4, 100, "uh1.up", "uh2.down")
}

func TestWhatIsLeftOutHasTheDocumentedDefault(t *testing.T) {
	p := mustParse(t, "clusters: [{name: a, hosts: 1}]")
	if diff := cmp.Diff(Cluster{Name: "a", Procs: 1, Hosts: []Host{{"a1", 1, 1, 0}}}, p.Clusters[0]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Link{"a1.up", 1000, 0.1, true}, p.Links[0]); diff != "" {
		t.Error(diff)
	}
	if p.Name != "p" {
		t.Errorf("name %q, want that of the file", p.Name)
	}
}

func TestAliasesStandForWhatTheyName(t *testing.T) {
	p := mustParse(t, `
clusters:
  - {name: a, hosts: 2, link: &slow {mbps: 10, ms: 1}}
  - {name: b, hosts: 3, link: *slow}
`)
	wantRoute(t, p, "b1", "b2", 2, 10, "b1.up", "b2.down")
}

func TestBlankListsAreEmptyOnes(t *testing.T) {
	p := mustParse(t, "clusters: [{name: a, hosts: 1}]\nlinks:\nfiles:\n")
	if len(p.Files) != 0 || len(p.Links) != 2 {
		t.Errorf("%d files, %d links", len(p.Files), len(p.Links))
	}
}

func TestHostsOfLargeClustersAreNumberedFromOne(t *testing.T) {
	p := mustParse(t, "clusters: [{name: big, hosts: 100000, cores: 64}]")
	c := p.Clusters[0]
	if c.Procs != 6_400_000 || c.Hosts[0].Name != "big1" || c.Hosts[99_999].Name != "big100000" {
		t.Errorf("%d processors, hosts %s … %s", c.Procs, c.Hosts[0].Name, c.Hosts[99_999].Name)
	}
	if at, ok := p.FindHost("big777"); !ok || at != (RouteEnd{0, 776}) {
		t.Errorf("big777 is at %v, %v", at, ok)
	}
	names := []string{p.Links[2*99_999].Name, p.Links[2*99_999+1].Name}
	if !slices.Equal(names, []string{"big100000.up", "big100000.down"}) {
		t.Errorf("the last host's links are %v", names)
	}
}

// A small file may not cost much, whatever its aliases say.
func TestAliasBombsAreRefusedQuickly(t *testing.T) {
	var b strings.Builder
	b.WriteString("clusters:\n")
	var all []string
	for i := range 3000 {
		fmt.Fprintf(&b, "  - {name: c%d, hosts: 1}\n", i)
		all = append(all, fmt.Sprintf("c%d", i))
	}
	b.WriteString("files:\n  - {name: f, size: 1, at: &at [" + strings.Join(all, ", ") + "]}\n")
	for i := range 3000 {
		fmt.Fprintf(&b, "  - {name: f%d, size: 1, at: *at}\n", i)
	}
	_, err := Parse("bomb.yaml", []byte(b.String()))
	if err == nil || !strings.Contains(err.Error(), "at most 100000 values behind aliases") {
		t.Errorf("got %v", err)
	}
	_, err = Parse("lol.yaml", []byte("a: &a [x, x]\nb: &b [*a, *a]\nclusters: &c [*b, *c]"))
	if err == nil {
		t.Error("a platform out of nothing but aliases")
	}
}

func TestLocalManagersAreNamedAsInTheFile(t *testing.T) {
	for _, l := range []Local{LocalNone, LocalFCFS, LocalEASY} {
		if got, ok := ParseLocal(l.String()); !ok || got != l {
			t.Errorf("%v is read back as %v, %v", l, got, ok)
		}
	}
	if _, ok := ParseLocal("EASY"); ok {
		t.Error("names are in small letters")
	}
}
