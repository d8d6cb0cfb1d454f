package platform

import (
	"path/filepath"
	"testing"
)

func BenchmarkParseClusterOf100000Hosts(b *testing.B) {
	data := []byte("clusters: [{name: big, hosts: 100000}]")
	for b.Loop() {
		if _, err := Parse("p.yaml", data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRouteBetweenHostsOfTheDAS3(b *testing.B) {
	p := mustLoad(b, filepath.Join("..", "..", "..", "examples", "platforms", "das3.yaml"))
	from, to := host(b, p, "mmn3"), host(b, p, "leiden4")
	for b.Loop() {
		p.FindRoute(from, to)
	}
}

func BenchmarkRouteThroughSimGridZones(b *testing.B) {
	p := mustLoad(b, filepath.Join("testdata", "simgrid", "campus.xml"))
	from, to := host(b, p, "anna"), host(b, p, "y")
	for b.Loop() {
		p.FindRoute(from, to)
	}
}
