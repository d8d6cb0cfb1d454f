package netgraph

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel/pattern"
)

func TestBadNetworksAreRefusedInOneLineThatSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "net: expected a network: JSON with hosts and links, SimGrid XML, or a CSV matrix; the file is empty"},
		{"{", "net:1: expected valid JSON (unexpected end of JSON input)"},
		{"{\n\"hosts\": [\"a\",]}", "net:2: expected valid JSON"},
		{`{"hosts":["a","b"],"links":[{"a":"a","b":"b","mbps":NaN}]}`, "net:1: expected valid JSON"},
		{`{"hosts":["a","b"],"links":[{"a":"a","b":"b","mbps":"fast"}]}`,
			"net:1: links.mbps: expected a number, not a JSON string"},
		{`{"hosts":["a","b"],"links":[{"a":"a","b":"b","mbps":1e999}]}`,
			`net:1: links.mbps "1e999": expected a number that is not so large`},
		{`{"hosts":["a"]}`, "net: hosts: expected a list of 2 to 5000 names, it has 1"},
		{`{"hosts":["a","b","a"]}`, `net: hosts[2] "a": expected a name that no other host or router has`},
		{`{"hosts":["a","b"],"routers":["b"]}`, `net: routers[0] "b": expected a name that no other host or router has`},
		{`{"hosts":["a",""]}`, "net: hosts[1]: expected a name that is not empty"},
		{`{"hosts":["a","b"],"links":[{"a":"a","b":"x","mbps":1}]}`,
			`net: links[0].b "x": expected a name from hosts or routers`},
		{`{"hosts":["a","b"],"links":[{"b":"a","mbps":1}]}`, `net: links[0].a: missing, expected a host or router`},
		{`{"hosts":["a","b"],"links":[{"a":"a","b":"a","mbps":1}]}`,
			`net: links[0].b "a": expected another host or router than a`},
		{`{"hosts":["a","b"],"links":[{"a":"a","b":"b"}]}`, `net: links[0].mbps: missing, expected the bandwidth in Mbit/s`},
		{`{"hosts":["a","b"],"links":[{"a":"a","b":"b","mbps":0}]}`, `net: links[0].mbps "0": expected a number above 0`},
		{`{"hosts":["a","b"],"links":[{"a":"a","b":"b","mbps":-3}]}`, `net: links[0].mbps "-3": expected a number above 0`},
		{`{"hosts":["a","b"],"links":[{"a":"a","b":"b","mbps":3,"ms":-1}]}`,
			`net: links[0].ms "-1": expected a number of at least 0`},
		{`{"hosts":["a","b"],"links":[{"a":"a","b":"b","mbps":100},{"a":"b","b":"a","mbps":50}]}`,
			`net: links[1].mbps "50": expected 100, as links[0] has it between a and b; a link is the same in both directions`},
		{`{"hosts":["a","b"],"routers":["r"],"links":[{"a":"a","b":"r","mbps":10},{"a":"r","b":"b","mbps":10},{"a":"a","b":"r","mbps":9}]}`,
			`net: links[2].mbps "9": expected 10, as links[0] has it between a and r`},
		{`{"hosts":["a","b"],"links":[{"a":"a","b":"b","mbps":5,"ms":1},{"a":"b","b":"a","mbps":5,"ms":2}]}`,
			`net: links[1].ms "2": expected 1, as links[0] has it between a and b`},
		{"a,b\n0,5\n6,0\n", `net:3: b to a "6": expected 5, as from a to b; the matrix must be symmetric`},
		{"a,b\n0,5\n,0\n", `net:3: b to a "0": expected 5, as from a to b; the matrix must be symmetric`},
		{"a,b\n0,0\n0,0\n", `net:2: a to b "0": expected a number above 0, or an empty cell for no connection`},
		{"a,b\n0,-1\n-1,0\n", `net:2: a to b "-1": expected a number above 0`},
		{"a,b\n0,nan\nnan,0\n", `net:2: a to b "nan": expected a number above 0`},
		{"a,b\n0,inf\ninf,0\n", `net:2: a to b "inf": expected a number above 0`},
		{"a,a\n0,1\n1,0\n", `net:1: host 2 "a": expected a name that no other host has`},
		{"a\n0\n", "net:1: expected a header row with 2 to 5000 hosts, it has 1"},
		{"a,b,c\n0,1,1\n", "net: expected 3 rows below the header, one for each host; there are 1"},
		{"a,b,c\n0,1,1\n1,0,1\n", "net: expected 3 rows below the header, one for each host; there are 2"},
		{"a,b\n0,1\n1\n", "net:3: expected 2 bandwidths, one for each host; there are 1"},
		{",a,b\na,0,1\nc,1,0\n", `net:3: host "c": expected b, as in the header`},
		{"a,b\n0,\"1\n", "net:2: expected valid CSV"},
	} {
		_, err := ParseNetwork("net", []byte(c.text))
		if err == nil || !badinput.Is(err) || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}

func TestALinkThatIsWrittenDownForEachDirectionIsOne(t *testing.T) {
	n, err := ParseNetwork("net", []byte(`{"hosts":["a","b"],"links":[{"a":"a","b":"b","mbps":100,"ms":1},{"a":"b","b":"a","mbps":100,"ms":1},{"a":"a","b":"b","mbps":100,"ms":1}]}`))
	if err != nil || len(n.Links) != 1 || n.Links[0].Mbps != 100 {
		t.Errorf("%+v, %v", n, err)
	}
}

func TestAMatrixMayNameItsRows(t *testing.T) {
	for _, text := range []string{"a,b,c\n0,5,\n5,0,7\n,7,0\n", ",a,b,c\na,-,5,\nb,5,-,7\nc,,7,-\n",
		"\ufeffhost, a, b, c\r\na, , 5,\r\nb, 5, , 7\r\nc, , 7,\r\n"} {
		n, err := ParseNetwork("net", []byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		b, err := n.WidestBandwidths()
		if err != nil {
			t.Fatal(err)
		}
		if b.HostCount() != 3 || b.PairBandwidth(0, 1) != 5 || b.PairBandwidth(1, 2) != 7 || b.PairBandwidth(0, 2) != 0 {
			t.Errorf("%q: %+v", text, n)
		}
	}
}

func TestBadPatternsAreRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{}", "p: nodes: missing, expected the number of nodes"},
		{`{"nodes":2.5}`, "p:1: nodes: expected a whole number, not a JSON number 2.5"},
		{`{"nodes":3,"edges":[{"a":0}]}`, "p: edges[0]: expected both ends, a and b"},
		{`{"nodes":3}`, "p: no edges"},
		{`{"nodes":3,"edges":[{"a":0,"b":3}]}`, "p: edges[0] 0-3: nodes from 0 to 2"},
		{`{"nodes":3,"edges":[{"a":0,"b":1,"weight":0}]}`, "p: edges[0].weight 0: a number above 0"},
		{"[1]", "p:1: expected an object, not a JSON array"},
	} {
		_, err := ParsePattern("p", []byte(c.text))
		if err == nil || !badinput.Is(err) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
}

func TestAnEdgeWithoutAWeightHasWeightOne(t *testing.T) {
	p, err := ParsePattern("p", []byte(`{"nodes":3,"edges":[{"a":0,"b":1},{"a":1,"b":2,"weight":2.5}]}`))
	if err != nil || p.Edges[0].Weight != 1 || p.Edges[1].Weight != 2.5 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestTheExamplesCanBeRead(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "examples", "networks")
	for _, name := range []string{"ten.json", "two-sites.json"} {
		n, err := ReadNetwork(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.WidestBandwidths(); err != nil {
			t.Error(err)
		}
	}
	if _, err := ReadPattern(filepath.Join(dir, "cg.json")); err != nil {
		t.Error(err)
	}
}

func TestAFileThatIsNotThereIsBadInput(t *testing.T) {
	var bad *badinput.Error
	if _, err := ReadNetwork("missing.json"); !errors.As(err, &bad) ||
		bad.Error() != "cannot read missing.json: no such file or directory" {
		t.Errorf("network: %v", err)
	}
	if _, err := ReadPattern("missing.json"); !errors.As(err, &bad) {
		t.Errorf("pattern: %v", err)
	}
}

func FuzzParseNetwork(f *testing.F) {
	for _, text := range []string{"a,b\n0,1\n1,0\n", ",a,b\na,,1\nb,1,\n",
		`{"hosts":["a","b"],"routers":["r"],"links":[{"a":"a","b":"r","mbps":1,"ms":2}]}`,
		`{"hosts":["a","b"],"links":[{"a":"a","b":"b","mbps":1},{"a":"b","b":"a","mbps":1}]}`, "{", "a,b\n\n"} {
		f.Add([]byte(text))
	}
	if data, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "networks", "ten.json")); err == nil {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := ParseNetwork("net", data)
		if err != nil {
			if !badinput.Is(err) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q", err)
			}
			return
		}
		if _, err := n.WidestBandwidths(); err != nil {
			t.Errorf("what was read cannot be used: %v", err)
		}
		seen := map[[2]int]bool{}
		for _, l := range n.Links {
			if seen[[2]int{l.A, l.B}] || seen[[2]int{l.B, l.A}] {
				t.Errorf("there are two links between %d and %d", l.A, l.B)
			}
			seen[[2]int{l.A, l.B}] = true
		}
	})
}

func FuzzParsePattern(f *testing.F) {
	f.Add([]byte(`{"nodes":3,"edges":[{"a":0,"b":1},{"a":1,"b":2,"weight":2.5}]}`))
	f.Add([]byte(`{"nodes":1e9}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParsePattern("p", data)
		if err != nil {
			if !badinput.Is(err) {
				t.Errorf("%q", err)
			}
			return
		}
		if err := pattern.CheckPattern(p); err != nil {
			t.Error(err)
		}
	})
}
