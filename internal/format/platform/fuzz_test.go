package platform

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// parseAnything must come back with a platform whose parts fit together, or
// with one line for the user.
func parseAnything(t *testing.T, name string, data []byte) {
	// What a fuzzer finds beyond this size it finds below it as well.
	if len(data) > 1<<16 {
		return
	}
	p, err := Parse(name, data)
	if err != nil {
		if !badinput.Is(err) || strings.Contains(err.Error(), "\n") {
			t.Fatalf("not one line of bad input: %q", err)
		}
		return
	}
	if len(p.Clusters) == 0 || p.TotalProcs() < 1 || len(p.Links) > maxLinks {
		t.Fatalf("%d clusters, %d processors, %d links", len(p.Clusters), p.TotalProcs(), len(p.Links))
	}
	for c := range p.Clusters {
		last := RouteEnd{c, len(p.Clusters[c].Hosts) - 1}
		for _, to := range []RouteEnd{{0, 0}, FrontEndOf(0), FrontEndOf(c)} {
			for _, ends := range [][2]RouteEnd{{last, to}, {to, last}} {
				r, ok := p.FindRoute(ends[0], ends[1])
				if ok && (r.Ms < 0 || r.Mbps <= 0) {
					t.Fatalf("%v: %+v", ends, r)
				}
			}
		}
		p.LoopbackRoute(last)
		if c == 20 {
			break
		}
	}
}

func FuzzYAML(f *testing.F) {
	f.Add([]byte(everything))
	f.Add([]byte(square))
	f.Add([]byte("clusters: &c [{name: a, hosts: [{name: x}, &h {cores: 3}, *h]}]\nfiles: [{name: f, size: 1K, at: [a]}]"))
	addFiles(f, filepath.Join("..", "..", "..", "examples", "platforms", "*.yaml"))
	f.Fuzz(func(t *testing.T, data []byte) { parseAnything(t, "f.yaml", append([]byte("#\n"), data...)) })
}

func FuzzXML(f *testing.F) {
	addFiles(f, filepath.Join("testdata", "simgrid", "*.xml"))
	f.Add([]byte(`<platform version="4"><cluster id="c" prefix="" suffix="" radical="0-7" speed="1f" bw="1Bps" lat="0" ` +
		`topology="FAT_TREE" topo_parameters="2;2,4;1,2;2,1" limiter_link="1Bps" loopback_bw="1Bps"/></platform>`))
	f.Fuzz(func(t *testing.T, data []byte) { parseAnything(t, "f.xml", append([]byte("<!---->"), data...)) })
}

func addFiles(f *testing.F, pattern string) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		f.Fatalf("no files %s", pattern)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}
