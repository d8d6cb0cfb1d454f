package netgraph_test

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/netgraph"
)

const tried = `{"nodes": 2, "edges": [{"a": 0, "b": 1}], "trials": [{"hosts": ["n2", "n1"], "seconds": 1.5, "at": "2026-11-15T20:00:00Z"}]}`

func TestTrialsAreRead(t *testing.T) {
	list, err := netgraph.ParseTrials("x.pattern", []byte(tried))
	if err != nil || len(list) != 1 || list[0].Hosts[0] != "n2" || list[0].Seconds != 1.5 || list[0].At.Hour() != 20 {
		t.Errorf("%+v, %v", list, err)
	}
	if list, err := netgraph.ParseTrials("x.pattern", []byte(`{"nodes": 2}`)); err != nil || list != nil {
		t.Errorf("%+v, %v", list, err)
	}
	for _, text := range []string{
		`{"nodes": 2, "trials": [{"hosts": ["n1"], "seconds": 1}]}`,
		`{"nodes": 2, "trials": [{"hosts": ["n1", "n1"], "seconds": 1}]}`,
		`{"nodes": 2, "trials": [{"hosts": ["n1", ""], "seconds": 1}]}`,
		`{"nodes": 2, "trials": [{"hosts": ["n1", "n2"], "seconds": 0}]}`,
		`{"nodes": 2, "trials": [{"hosts": ["n1", "n2"]}]}`,
		`{"nodes": 0, "trials": [{"hosts": [], "seconds": 1}]}`,
		`{"nodes": 1, "trials": [{"hosts": ["n1"], "seconds": 1, "at": "yesterday"}]}`,
		`{"nodes": 1, "trials": [{"hosts": ["n1"], "seconds": 1, "at": 7}]}`,
		`{"nodes": 1, "trials": [{"hosts": ["n1"], "seconds": 1, "at": "1815-06-18T10:00:00Z"}]}`,
		`{"nodes": 2, "trials": 7}`,
	} {
		if _, err := netgraph.ParseTrials("x.pattern", []byte(text)); !badinput.Is(err) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzTrials(f *testing.F) {
	f.Add([]byte(tried))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := netgraph.ParseTrials("x.pattern", data)
		if err != nil && !badinput.Is(err) {
			t.Fatal(err)
		}
		for i := range list {
			if len(list[i].Hosts) == 0 || !(list[i].Seconds > 0) {
				t.Fatalf("%+v", list[i])
			}
		}
	})
}
