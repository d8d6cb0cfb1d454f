package platform

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/godwit-hpc/godwit/internal/recordings"
)

func TestTheFilesOfSimGridComeInWithAllTheirHostsAndLinks(t *testing.T) {
	dir := recordings.Path(t, "net", "simgrid-platforms")
	for _, want := range []struct {
		file                          string
		clusters, hosts, procs, links int
		speed                         float64 // of the first host, in Gf/s
	}{
		{"cloud", 13, 510, 510, 1055, 5.2297},
		{"cluster_dragonfly", 1, 120, 120, 966, 1},
		{"cluster_fat_tree", 1, 16, 16, 80, 1},
		{"cluster_multi", 3, 24, 56, 43, 1},
		{"cluster_torus", 1, 12, 12, 84, 1},
		{"data_center", 3, 120, 120, 249, 5.2297},
		{"g5k", 40, 1528, 1528, 3142, 5.2297},
		{"griffon", 3, 92, 92, 188, 0.000286087},
		{"meta_cluster", 2, 60, 60, 123, 1},
		{"routing_cluster", 2, 6, 6, 13, 1},
		{"small_platform", 1, 7, 7, 24, 0.098095},
		{"vivaldi", 1, 40, 40, 0, 1.5},
	} {
		p := mustLoad(t, filepath.Join(dir, want.file+".xml"))
		hosts := 0
		for _, c := range p.Clusters {
			hosts += len(c.Hosts)
		}
		if len(p.Clusters) != want.clusters || hosts != want.hosts || p.TotalProcs() != want.procs ||
			len(p.Links) != want.links {
			t.Errorf("%s: %d clusters, %d hosts, %d cores, %d links; want %+v",
				want.file, len(p.Clusters), hosts, p.TotalProcs(), len(p.Links), want)
		}
		if got := p.Clusters[0].Hosts[0].Speed; !near(got, want.speed) {
			t.Errorf("%s: the first host has speed %g, want %g", want.file, got, want.speed)
		}
		if len(p.Notes) != 0 {
			t.Errorf("%s: %v", want.file, p.Notes)
		}
		if p.Name != want.file {
			t.Errorf("%s has the name %q", want.file, p.Name)
		}
	}
}

func TestRoutesOverTheFilesOfSimGrid(t *testing.T) {
	dir := recordings.Path(t, "net", "simgrid-platforms")
	load := func(file string) *Platform { return mustLoad(t, filepath.Join(dir, file+".xml")) }

	// Three levels of zones, with Floyd over four cities in the middle.
	p := load("g5k")
	wantRoute(t, p, "bordeplage-1.bordeaux.grid5000.fr", "violette-52.toulouse.grid5000.fr", 1.1, 1000,
		"AS_bordeplage_link_1_UP", "AS_bordeplage_backbone", "link_bordeplage", "link_gw_bordeaux",
		"Bordeaux_Lyon", "Lyon_Marseille", "Marseille_Toulouse",
		"link_gw_toulouse", "link_violette", "AS_violette_backbone", "AS_violette_link_52_DOWN")
	wantRoute(t, p, "@AS_edel", "@AS_genepi", 0.2, 10000, "link_edel", "link_genepi")

	// Vivaldi between data centres: √(19.5² + 3.7²) + 1.4 + 6.6 ms, and twelve
	// links of 0.1 ms.
	p = load("cloud")
	wantRoute(t, p, "cb1-1.dc1.acloud.com", "cb4-30.dc3.acloud.com", math.Sqrt(19.5*19.5+3.7*3.7)+8+1.2, 1000,
		"AS1_cb1_link_1_UP", "AS1_cb1_backbone", "link_dc1_cb1",
		"dc1_horizdist_maindist", "dc1_maindist_entranceroom", "dc1_entranceroom_ISP",
		"dc3_entranceroom_ISP", "dc3_maindist_entranceroom", "dc3_horizdist_maindist",
		"link_dc3_cb4", "AS3_cb4_backbone", "AS3_cb4_link_30_DOWN")

	p = load("cluster_multi")
	wantRoute(t, p, "node-0.1core.org", "node-7.4cores.org", 1.1, 1000,
		"simple_link_0_UP", "backbone", "halfduplex_backbone", "halfduplex_link_7")
	wantRoute(t, p, "node-3.4cores.org", "node-4.2cores.org", 1.6, 1000,
		"halfduplex_link_3", "halfduplex_backbone", "backbone", "backboned_backbone", "backboned_link_4_DOWN")
	fat, shared := p.Links[linkIndex(t, p, "backbone")], p.Links[linkIndex(t, p, "backboned_backbone")]
	if diff := cmp.Diff([]Link{{"backbone", 10000, 0.5, false}, {"backboned_backbone", 18000, 0.5, true}},
		[]Link{fat, shared}); diff != "" {
		t.Error(diff)
	}

	p = load("routing_cluster")
	wantRoute(t, p, "host2", "host4", 1.7, 1000, "l2_UP", "backbone1", "link1-2", "backbone2", "l4_DOWN")
	wantRoute(t, p, "host6", "host3", 1.7, 1000, "l6", "backbone2", "link1-2", "backbone1", "l3")

	p = load("meta_cluster")
	wantRoute(t, p, "host-1.cluster1", "host-30.cluster1", 0.7, 1000, "link_host-1.cluster1_UP", "backbone1",
		"link_host-30.cluster1_DOWN")

	p = load("small_platform")
	wantRoute(t, p, "Fafard", "Tremblay", 0.270544+0.514433+0.059904+0.136931+0.514433+0.47978, 65.264, "8", "1", "0", "2",
		"3", "4")
	if got := linkNames(p, p.LoopbackRoute(host(t, p, "Jupiter"))); !cmp.Equal(got, []string{"loopback"}) {
		t.Errorf("Jupiter reaches itself over %v", got)
	}

	p = load("vivaldi")
	wantRoute(t, p, "100030591", "100036570", math.Hypot(25.5+12.7, 9.4+9.9)+1.4+2.1, math.Inf(1))

	p = load("data_center")
	wantRoute(t, p, "cb1-1.dc1.acloud.com", "cb3-2.dc1.acloud.com", 0.6, 1000,
		"cabinet1_link_1_UP", "cabinet1_backbone", "link_dc1_cb1", "link_dc1_cb3", "cabinet3_backbone",
		"cabinet3_link_2_DOWN")

	p = load("griffon")
	wantRoute(t, p, "griffon-60.nancy.grid5000.fr", "griffon-30.nancy.grid5000.fr", 0.072, 1000,
		"griffon_cluster_cabinet1_link_60_UP", "griffon_cluster_cabinet1_backbone", "backbone",
		"griffon_cluster_cabinet2_backbone", "griffon_cluster_cabinet2_link_30_DOWN")
}

func TestRoutesOverTheTopologiesOfSimGrid(t *testing.T) {
	dir := recordings.Path(t, "net", "simgrid-platforms")
	// 3 × 2 × 2: node 11 is (2,1,1). From 0 the first step leads down round the
	// end, over the link that node 2 owns.
	p := mustLoad(t, filepath.Join(dir, "cluster_torus.xml"))
	wantRoute(t, p, "node-0.simgrid.org", "node-11.simgrid.org", 0.15, 1000,
		"bob_cluster_link_from_2_to_0_DOWN", "bob_cluster_link_from_2_to_5_UP", "bob_cluster_link_from_5_to_11_UP")

	// Up to the parent and the cable that 15 mod 4 selects, and down over the
	// cable that 0 mod 2 selects.
	p = mustLoad(t, filepath.Join(dir, "cluster_fat_tree.xml"))
	wantRoute(t, p, "node-0.simgrid.org", "node-15.simgrid.org", 0.2, 1000,
		"link_from_0_31_0_UP", "link_from_31_26_19_UP", "link_from_28_26_30_DOWN", "link_from_15_28_15_DOWN")
	wantRoute(t, p, "node-4.simgrid.org", "node-7.simgrid.org", 0.1, 1000, "link_from_4_30_4_UP", "link_from_7_30_7_DOWN")

	// Node 0 is on blade 0 of chassis 0 of group 0, node 119 on blade 4 of
	// chassis 3 of group 2.
	p = mustLoad(t, filepath.Join(dir, "cluster_dragonfly.xml"))
	wantRoute(t, p, "node-0.simgrid.org", "node-119.simgrid.org", 0.3, 1000,
		"bob_cluster_link_0_limiter", "local_link_from_router_0_to_node_0_0_UP",
		"bob_cluster_link_239_limiter", "green_link_in_chassis_0_between_routers_0_and_2_121_UP",
		"blue_link_between_group_0_and_2_routers_2_and_40_331_UP", "bob_cluster_link_237_limiter",
		"bob_cluster_link_199_limiter", "green_link_in_chassis_0_between_routers_0_and_4_203_UP",
		"bob_cluster_link_195_limiter", "black_link_in_group_2_between_chassis_0_and_3_blade_4_314_UP",
		"bob_cluster_link_180_limiter", "local_link_from_router_59_to_node_1_119_DOWN", "bob_cluster_link_119_limiter")
	if got := p.Links[linkIndex(t, p, "blue_link_between_group_0_and_2_routers_2_and_40_331_UP")].Mbps; got != 4000 {
		t.Errorf("a blue link of four cables carries %g Mbit/s", got)
	}
	if got := p.LoopbackRoute(RouteEnd{0, 5}); got.Mbps != 800 || got.Ms != 0 {
		t.Errorf("loopback %+v", got)
	}
}

func linkIndex(t *testing.T, p *Platform, name string) int {
	t.Helper()
	for i, l := range p.Links {
		if l.Name == name {
			return i
		}
	}
	t.Fatalf("no link %q", name)
	return 0
}

func TestZonesGatewaysAndPoliciesOfACampus(t *testing.T) {
	p := mustLoad(t, filepath.Join("testdata", "simgrid", "campus.xml"))
	var got []string
	for _, c := range p.Clusters {
		for _, h := range c.Hosts {
			got = append(got, fmt.Sprintf("%s/%s %d×%g", c.Name, h.Name, h.Cores, h.Speed))
		}
	}
	want := strings.Fields("fast/f0.one_4×2 fast/f1.one_4×2 fast/f2.one_4×2 fast/f7.one_4×2 " +
		"room/anna_1×0.25 room/bruno_2×1 two/y_1×1 two/x1_1×1 two/x2_1×1")
	for i := range want {
		want[i] = strings.Replace(want[i], "_", " ", 1)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"<host> speed: of several power states only the first in use is imported"},
		p.Notes); diff != "" {
		t.Error(diff)
	}
	wantRoute(t, p, "f0.one", "f7.one", 0.11, 1000,
		"fast_link_0_limiter", "fast_link_0_UP", "fast_backbone", "fast_link_7_DOWN", "fast_link_7_limiter")
	wantRoute(t, p, "anna", "bruno", 0.6, 100, "desk_UP", "wall", "window")
	wantRoute(t, p, "bruno", "anna", 0.6, 100, "window", "wall", "desk_DOWN")
	wantRoute(t, p, "f1.one", "anna", 0.38, 100,
		"fast_link_1_limiter", "fast_link_1_UP", "fast_backbone", "corridor", "wall", "desk_DOWN")
	// In the core the way of two links wins over that of three, whatever their
	// latencies.
	wantRoute(t, p, "anna", "y", 10.305, 100,
		"desk_UP", "wall", "one_up_UP", "north_east", "east_south", "two_there", "spine", "ylink")
	wantRoute(t, p, "y", "anna", 11.305, 100,
		"ylink", "spine", "two_back", "east_south", "north_east", "one_up_DOWN", "wall", "desk_DOWN")
	wantRoute(t, p, "x1", "x2", 2.005, 1000, "link_x1_UP", "spine", "link_x2_DOWN")
	wantRoute(t, p, "@fast", "@two", 8.02, 1000, "corridor", "one_up_UP", "north_east", "east_south", "two_there")
	wantRoute(t, p, "@two", "x2", 1.005, 1000, "spine", "link_x2_DOWN")

	loop := p.LoopbackRoute(host(t, p, "f0.one"))
	if diff := cmp.Diff([]string{"fast_link_0_loopback"}, linkNames(p, loop)); diff != "" || loop.Mbps != 4000 {
		t.Errorf("loopback %+v\n%s", loop, diff)
	}
	if p.Links[linkIndex(t, p, "wall")].Shared || !p.Links[linkIndex(t, p, "window")].Shared {
		t.Error("FATPIPE must be a fat pipe, SHARED must not")
	}
}

func TestPeersAreJoinedByTheirOwnLinksAndTheirDistance(t *testing.T) {
	p := mustLoad(t, filepath.Join("testdata", "simgrid", "peers.xml"))
	wantRoute(t, p, "p1", "p2", 50+1+2, 8, "link_p1_UP", "link_p2_DOWN")
	wantRoute(t, p, "p2", "p1", 53, 16, "link_p2_UP", "link_p1_DOWN")
	wantRoute(t, p, "p1", "h", 40+1+4, 8, "link_p1_UP")
	if diff := cmp.Diff([]string{"<peer> lat is not imported: SimGrid takes the third coordinate instead"},
		p.Notes); diff != "" {
		t.Error(diff)
	}
}

func TestWhatHasNoEquivalentIsNoted(t *testing.T) {
	p, err := Parse("p.xml", []byte(`<platform version="4.1">
		<config><prop id="network/model" value="SMPI"/></config>
		<zone id="z" routing="Full">
			<host id="a" speed="1000000000" availability_file="a.trace"><disk id="d" read_bw="1Bps" write_bw="1Bps"/></host>
			<link id="l" bandwidth="1Bps" bandwidth_file="l.bw" latency_file="l.lat"/>
			<link id="m" bandwidth="1Bps" bandwidth_file="m.bw"/>
			<trace id="t" periodicity="1">0 1</trace>
		</zone>
		<actor host="a" function="f"/>
	</platform>`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"<actor> is not imported: jobs come from traces and scenarios",
		"<config> is not imported: it sets up SimGrid's own models",
		"<disk> is not imported: files are read and written at no cost",
		"<host> availability_file is not imported: load and failures come from scenarios",
		"<host> speed has no unit and is taken as f",
		"<link> bandwidth_file is not imported: load and failures come from scenarios (2 times)",
		"<link> latency_file is not imported: load and failures come from scenarios",
		"<trace> is not imported: load and failures come from scenarios",
	}
	if diff := cmp.Diff(want, p.Notes); diff != "" {
		t.Error(diff)
	}
}

func TestUnitsOfSimGrid(t *testing.T) {
	for _, c := range []struct {
		q    quantity
		text string
		want float64
	}{
		{inGflops, "1.5Gf", 1.5}, {inGflops, "286.087kf", 0.000286087}, {inGflops, "5.2297E9f", 5.2297},
		{inGflops, "2teraflops", 2000}, {inGflops, "1e9", 1},
		{inMbps, "125MBps", 1000}, {inMbps, "1.25E9Bps", 10000}, {inMbps, "1Gbps", 1000}, {inMbps, "8Kbps", 0.008},
		{inMbps, "1MiBps", 8.388608}, {inMbps, "1Kibps", 0.001024}, {inMbps, "0.0001EBps", 8e8},
		{inMs, "50us", 0.05}, {inMs, "1.0E-4s", 0.1}, {inMs, "15ns", 0.000015}, {inMs, "2m", 120000}, {inMs, "0", 0},
	} {
		x := xmlFile{report: &report{}}
		e := &element{name: "e", attrs: map[string]string{"a": c.text}}
		if got := x.readQuantity(e, "a", c.q, true); x.hasFailed() || !near(got, c.want) {
			t.Errorf("%q is %g (%v), want %g", c.text, got, x.err, c.want)
		}
	}
}

func TestZonesWithoutRoutesAreUnreachable(t *testing.T) {
	p := mustLoad(t, filepath.Join("testdata", "simgrid", "shapes.xml"))
	if r, ok := p.FindRoute(host(t, p, "t0"), host(t, p, "n0")); ok {
		t.Errorf("t0 → n0 over %v", linkNames(p, r))
	}
	if r, ok := p.FindRoute(host(t, p, "@ring"), host(t, p, "t3")); !ok || len(r.Links) != 0 {
		t.Errorf("the front end of a torus is reached over %v, %v", linkNames(p, r), ok)
	}
}
