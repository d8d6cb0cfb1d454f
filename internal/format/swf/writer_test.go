package swf

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestWhatIsWrittenIsReadBackUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := Trace{}
		in.Header.AddEntry("MaxProcs", rapid.StringMatching(`[a-z0-9 :]{0,10}[a-z]`).Draw(t, "value"))
		for id := range int64(rapid.IntRange(1, 20).Draw(t, "records")) {
			in.Records = append(in.Records, drawRecord(t, id))
		}
		got, err := ReadAll(bytes.NewReader(written(t, &in)), "written", Options{})
		if err != nil {
			t.Fatal(err)
		}
		in.Records = bySubmit(in.Records)
		got.Displaced = 0
		if diff := cmp.Diff(&in, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func drawRecord(t *rapid.T, id int64) Record {
	long := rapid.Int64Range(Unknown, math.MaxInt64)
	seconds := rapid.Custom(func(t *rapid.T) time.Duration {
		ns := rapid.Int64Range(Unknown, maxSeconds*int64(time.Second)).Draw(t, "ns")
		if rapid.Bool().Draw(t, "whole") {
			ns -= ns % int64(time.Second)
		}
		return time.Duration(ns)
	})
	short := rapid.Int32Range(Unknown, math.MaxInt32)
	return Record{
		ID:     id,
		Submit: core.Time(max(seconds.Draw(t, "submit"), 0)),
		Wait:   seconds.Draw(t, "wait"), Run: seconds.Draw(t, "run"), CPU: seconds.Draw(t, "cpu"),
		RequestedTime: seconds.Draw(t, "requested time"), Think: seconds.Draw(t, "think"),
		Memory: long.Draw(t, "memory"), RequestedMemory: long.Draw(t, "requested memory"),
		Preceding: long.Draw(t, "preceding"),
		Allocated: short.Draw(t, "allocated"), RequestedProcs: short.Draw(t, "requested"),
		User: short.Draw(t, "user"), Group: short.Draw(t, "group"), App: short.Draw(t, "app"),
		Queue: short.Draw(t, "queue"), Partition: short.Draw(t, "partition"),
		Status: Status(rapid.Int8Range(Unknown, 5).Draw(t, "status")),
	}
}

type failer interface {
	Helper()
	Fatal(args ...any)
}

func written(t failer, trace *Trace) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b)
	if err := w.WriteHeader(&trace.Header); err != nil {
		t.Fatal(err)
	}
	for i := range trace.Records {
		if err := w.Write(&trace.Records[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
