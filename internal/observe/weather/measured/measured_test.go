package measured

import (
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestSeriesAreReadFromEachFormat(t *testing.T) {
	for name, text := range map[string]string{
		"csv": "time,from,to,mbps,ms\n0,a,b,94,0.5\n0,b,a,90,\n10, a, b, 93, 0.6\n",
		"bom": "\ufeffTime,From,To,Mbps,Ms\r\n0,a,b,94,0.5\r\n0,b,a,90,\r\n10,a,b,93,0.6\r\n",
		"json": "{\"measurements\": [{\"time\": 0, \"from\": \"a\", \"to\": \"b\", \"mbps\": 94, \"ms\": 0.5},\n{\"time\": " +
			"0, \"from\": \"b\", \"to\": \"a\", \"mbps\": 90},\n{\"time\": \"1970-01-01T00:00:10Z\", \"from\": \"a\", \"to\": " +
			"\"b\", \"mbps\": 93, \"ms\": 0.6}]}",
	} {
		list, err := Parse(name, []byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, s := range list {
			got = append(got, string(s.What)+" "+s.SeriesName())
		}
		if strings.Join(got, "; ") != "mbps a to b; mbps b to a; ms a to b" {
			t.Errorf("%s: series %q", name, got)
			continue
		}
		if r := list[0].Readings; len(r) != 2 || r[1] != (Reading{core.AtSecond(10), 93}) {
			t.Errorf("%s: readings %v", name, r)
		}
	}
	list, err := Parse("plain", []byte("0.0\t0.73\n1.8\t1.17\n\n2.9 0.98\n"))
	if err != nil || len(list) != 1 || len(list[0].Readings) != 3 || list[0].SeriesName() != "-" || list[0].What != Mbps {
		t.Errorf("lines of two numbers: %v, %v", list, err)
	}
}

func TestMistakesAreToldInOneLineWithTheirPlace(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "f: expected measurements: CSV with a header, JSON, or lines of seconds and Mbit/s; the file is empty"},
		{"time,mbps\n", "f: expected at least one measurement"},
		{"time,from\n1,a\n", "f:1: expected a header with time and at least one of mbps, ms, cpu, mb"},
		{"time,mbsp\n1,2\n", `f:1: column "mbsp": expected one of the columns time, from, to, mbps, ms, cpu, mb; did you mean mbps?`},
		{"time,mbps,mbps\n1,2,3\n", `f:1: column "mbps": expected each column once`},
		{"time,mbps\n1,2\n1,3\n", `f:3: time "1": expected later than the measurement of mbps (-) before`},
		{"time,mbps\nnoon,2\n", `f:2: time "noon": expected seconds, or a date and time like 2026-05-01T12:00:00Z`},
		{"time,mbps\n1,fast\n", `f:2: mbps "fast": expected a number of at least 0`},
		{"time,mbps\n1,-2\n", `f:2: mbps "-2": expected a number of at least 0`},
		{"time,mbps\n1,inf\n", `f:2: mbps "inf": expected a number of at least 0`},
		{"time,from,cpu\n1,a,1.5\n", `f:2: cpu "1.5": expected a number from 0 to 1`},
		{"time,from,to,ms\n1,,b,1.5\n", `f:2: from: expected a host, as there is one in to`},
		{"time,from,to,ms\n1,b,b,1.5\n", `f:2: to "b": expected another host than from`},
		{"time,mbps\n1,2,3\n", `f:2: expected valid CSV with as many cells as the header has (wrong number of fields)`},
		{"0 1\n1 2 3\n", `f:2: "1 2 3": expected two numbers: seconds and Mbit/s`},
		{"0 1\n1 x\n", `f:2: mbps "x": expected a number of at least 0`},
		{"{", "f:1: expected valid JSON"},
		{"{}", "f: measurements: a list, it is missing"},
		{"{\"measurements\": []}", "f: expected at least one measurement"},
		{"{\"measurements\": 3}", "f:1: measurements: expected a list of measurements"},
		{"{\"measurements\": []}\n\nx", "f:2: nothing after the end of the JSON"},
		{"{\"measurements\": [\n{\"time\": 1, \"mbps\": 3},\n{\"time\": 1, \"mbps\": 3}]}",
			`f:3: time "1": expected later than the measurement of mbps (-) before`},
		{"{\"measurements\": [\n\n{\"time\": 1, \"mpbs\": 3}]}",
			`f:3: field "mpbs": expected one of time, from, to, mbps, ms, cpu, mb; did you mean mbps?`},
		{"{\"measurements\": [\n{\"time\": 1, \"mbps\": \"3\"}]}", `f:2: mbps "\"3\"": expected a number`},
		{"{\"measurements\": [\n7]}", `f:2: `},
	} {
		_, err := Parse("f", []byte(c.text))
		if err == nil || !badinput.Is(err) || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}

// Whatever the text, it is series whose times rise, or a mistake told in a line.
func FuzzParse(f *testing.F) {
	f.Add([]byte("time,from,to,mbps,ms\n0,a,b,94,0.5\n10,a,b,93,0.6\n"))
	f.Add([]byte("0.0\t0.73\n1.8\t1.17\n"))
	f.Add([]byte(`{"measurements": [{"time": 0, "from": "a", "cpu": 0.4}, {"time": "2026-05-01T12:00:00Z", "from": "a", "mb": 100}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := Parse("f", text)
		if err != nil {
			if !badinput.Is(err) || strings.ContainsAny(err.Error(), "\n") {
				t.Fatalf("%v", err)
			}
			return
		}
		for _, s := range list {
			for i, r := range s.Readings {
				if i > 0 && r.At <= s.Readings[i-1].At || !(r.Value >= 0) {
					t.Fatalf("%v", s)
				}
			}
		}
	})
}
