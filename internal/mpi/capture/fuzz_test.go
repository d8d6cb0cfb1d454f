package capture

import (
	"bytes"
	"strings"
	"testing"
)

const sample = `godwit-capture 1
rank 0 2
host h
program a program
state finalized
seconds 1.5 0.5 0.75 0.25
spin 600000000
odd 0
group 0 2 0 1
peer 1 800 100 16
fetched 1 24 3
size 3 100
collective alltoallv 0 -2 20 320 0.1
sequence 3 0 640 0
loop 100 2
call send 0 1 0 -2 0 -1 8 100 0.1 0.1 0.1 0
call recv 0 1 0 -2 0 -1 0 100 0.1 0.1 0.1 0
call alltoallv 0 -2 0 -2 0 -1 16 20 0.1 0.1 0.1 2 8 8
call wait 0 -2 0 -2 0 -1 0 20 0.1 0.1 0.1 1 0
end
`

func TestARecordIsReadStrictly(t *testing.T) {
	if r, err := parseRecord([]byte(sample)); err != nil || len(r.calls) != 3 || r.calls[0].Rounds != 100 ||
		r.peers[1].bytes != 800 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, c := range []struct{ from, to string }{
		{"godwit-capture 1", "godwit-capture 2"},
		{"rank 0 2", "rank 2 2"},
		{"state finalized", "state sleeping"},
		{"spin 600000000", "spin 0"},
		{"group 0 2 0 1", "group 0 2 0 0"},
		{"peer 1 800", "peer 2 800"},
		{"peer 1 800", "peer 1 -800"},
		{"fetched 1 24", "fetched 2 24"},
		{"fetched 1 24", "fetched 1 -24"},
		{"alltoallv 0 -2 20 320", "alltoallv 1 -2 20 320"},
		{"sequence 3", "sequence 4"},
		{"sequence 3", "sequence 2"},
		{"loop 100 2", "loop 0 2"},
		{"loop 100 2", "loop 100 9"},
		{"call send 0 1", "call shout 0 1"},
		{"call send 0 1", "call send 0 5"},
		{"end\n", ""},
		{"end\n", "end\nmore\n"},
		{"0.1 0.1 0.1 1 0\n", "0.1 0.1 NaN 1 0\n"},
		{"0.1 0.1 0.1 1 0\n", "0.1 0.1 0.1 2 0\n"},
	} {
		if !strings.Contains(sample, c.from) {
			t.Fatalf("%q is not in the sample", c.from)
		}
		if r, err := parseRecord([]byte(strings.Replace(sample, c.from, c.to, 1))); err == nil {
			t.Errorf("%q instead of %q is read as %+v", c.to, c.from, r)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q is told in several lines: %v", c.to, err)
		}
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte(sample))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseRecord(data)
		if err != nil {
			return
		}
		if r.ranks > 1 || r.rank != 0 {
			return
		}
		p, err := mergeRecords([]*record{r})
		if err != nil {
			return
		}
		checkAgain(t, p)
	})
}

// checkAgain writes and reads a pattern; what we write we must accept.
func checkAgain(t *testing.T, p *Pattern) {
	t.Helper()
	text, err := p.EncodeText()
	if err != nil {
		t.Skip("numbers that JSON cannot hold")
	}
	again, err := Parse("x", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	second, err := again.EncodeText()
	if err != nil || !bytes.Equal(text, second) {
		t.Fatalf("%v\n%s\n%s", err, text, second)
	}
	p.DrawSVG()
}

func FuzzPattern(f *testing.F) {
	r, err := parseRecord([]byte(sample))
	if err != nil {
		f.Fatal(err)
	}
	other := *r
	other.rank = 1
	p, err := mergeRecords([]*record{r, &other})
	if err != nil {
		f.Fatal(err)
	}
	text, err := p.EncodeText()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"format":"godwit-pattern/1","source":"sockets","nodes":1,"names":["a"],"others":[{"node":0,"host":"b","sent":1,"received":2}],"bytes":[[0]],"messages":[[0]],"collective_bytes":[[0]]}`))
	f.Add([]byte(`{"format":"godwit-pattern/1","nodes":1,"ranks":[{"spin":1}],"bytes":[[0]],"messages":[[0]],"collective_bytes":[[0]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse("x", data)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("several lines: %v", err)
			}
			return
		}
		p.addPhases()
		p.DrawSVG()
	})
}
