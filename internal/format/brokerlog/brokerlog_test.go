package brokerlog_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/brokerlog"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func someLines() []brokerlog.Line {
	return []brokerlog.Line{
		{Job: &brokerlog.Job{ID: 7, User: "ann", Name: "x", Program: "p", State: core.Done, Submit: 1, Start: 2, End: 3,
			Procs: 4, Run: time.Second, CPU: 2 * time.Second, Limit: time.Hour, Estimate: time.Minute, Deadline: 9,
			Cluster: "a", ExitCode: 1}},
		{Start: &brokerlog.Start{After: 3, Place: core.DeadlineFirst, Snapshot: []byte("state")}},
		{Event: &core.Event{At: 4, Kind: core.JobProgressed, Job: 7, Done: 0.25}},
		{Began: &brokerlog.Began{Engine: json.RawMessage(`{"approach":"pra"}`)}},
		{Left: &brokerlog.Left{After: 4, Engine: json.RawMessage(`{}`), Unsettled: json.RawMessage(`{"any":true}`)}},
		{Step: &brokerlog.Step{At: 5, In: core.Input{Kind: core.Ended, Job: 7, Epoch: 1},
			Events:   []core.Event{{At: 5, Kind: core.JobBecame, Job: 7, From: core.Running, To: core.Done}},
			Commands: []core.Command{{Kind: core.Release, Job: 7, Epoch: 1}}}},
	}
}

func written(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := brokerlog.NewWriter(json.NewEncoder(&b).Encode, brokerlog.Header{Release: "v1", Exported: time.Unix(5, 0).UTC(),
		Clusters: []core.ClusterSpec{{Name: "a", Hosts: []core.HostSpec{{Procs: 2, Speed: 1}}}}})
	if err != nil {
		t.Fatal(err)
	}
	lines := someLines()
	for i := range lines {
		if err := w.WriteLine(&lines[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(text []byte) (lines []brokerlog.Line, err error) {
	r, err := brokerlog.NewReader(bytes.NewReader(text), "live.jsonl")
	if err != nil {
		return nil, err
	}
	for {
		l, err := r.NextLine()
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return nil, err
		}
		lines = append(lines, *l)
	}
}

func TestEveryLineComesBack(t *testing.T) {
	text := written(t)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(text); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	for _, file := range [][]byte{text, packed.Bytes()} {
		lines, err := read(file)
		if err != nil {
			t.Fatal(err)
		}
		if want := someLines(); !reflect.DeepEqual(lines, want) {
			t.Errorf("read %+v, written were %+v", lines, want)
		}
	}
}

func TestAFileThatIsNotWholeIsRefused(t *testing.T) {
	text := written(t)
	for _, cut := range []int{0, 1, len(text) / 2, len(text) - 1} {
		if _, err := read(text[:cut]); !badinput.Is(err) {
			t.Errorf("cut after %d of %d bytes: %v", cut, len(text), err)
		}
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	for keep := 1; keep < len(lines)-1; keep++ {
		if _, err := read(bytes.Join(lines[:keep], nil)); !badinput.Is(err) {
			t.Errorf("%d of %d lines: %v", keep, len(lines)-1, err)
		}
	}
	without := bytes.Join([][]byte{lines[0], bytes.Join(lines[2:], nil)}, nil)
	if _, err := read(without); !badinput.Is(err) || !strings.Contains(err.Error(), "the end of 1 jobs and 1 steps") {
		t.Errorf("a line is missing: %v", err)
	}
	for old, wrong := range map[string]string{`"version":1`: `"version":2`, `"format":"godwit-broker-log"`: `"format":"x"`,
		`"procs":4`: `"procs":-4`, `"kind":"ended"`: `"kind":"over"`, `{"end":`: `{"start":{"after":1},"end":`,
		`"procs":2`: `"procs":200000000`} {
		edited := strings.Replace(string(text), old, wrong, 1)
		if _, err := read([]byte(edited)); edited == string(text) || !badinput.Is(err) {
			t.Errorf("%s in place of %s: %v", wrong, old, err)
		}
	}
	if _, err := read(append(bytes.Clone(text), "{}\n"...)); !badinput.Is(err) {
		t.Errorf("something after the end: %v", err)
	}
}

func TestAnExportedLogIsKnownByItsFirstLine(t *testing.T) {
	dir := t.TempDir()
	for name, is := range map[string]bool{string(written(t)): true, `{"format":"godwit-run-log","version":1}` + "\n": false,
		"; Version: 2.2\n1 0 -1 1\n": false, "": false} {
		path := filepath.Join(dir, "file")
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		if brokerlog.IsFile(path) != is {
			t.Errorf("%.30q: %v", name, !is)
		}
	}
	if brokerlog.IsFile(filepath.Join(dir, "none")) {
		t.Error("a file that is not there")
	}
}

// FuzzRead: whatever a file says, it is read to its end or refused with one line.
func FuzzRead(f *testing.F) {
	text := written(f)
	f.Add(text)
	f.Add(text[:len(text)/2])
	f.Add(bytes.ReplaceAll(text, []byte(`{"step":`), []byte(`{"event":`)))
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := read(text); err != nil && (!badinput.Is(err) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%v", err)
		}
	})
}
