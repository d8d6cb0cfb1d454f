package joblog

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"pgregory.net/rapid"
)

// all reads a log from its beginning to its end.
func all(t interface{ Fatal(...any) }, l *Log) (from int64, data []byte) {
	from = -1
	var at int64
	buf := make([]byte, 7)
	for {
		n, begin, err := l.ReadAt(buf, at)
		if errors.Is(err, io.EOF) {
			return max(from, 0), data
		}
		if err != nil {
			t.Fatal(err)
		}
		if from < 0 {
			from = begin
		}
		data = append(data, buf[:n]...)
		at = begin + int64(n)
	}
}

func TestALogHoldsWhatWasWrittenLastAtEveryOffset(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := Open(t.TempDir(), "out", Limits{Segment: rapid.Int64Range(1, 20).Draw(rt, "segment")})
		var want []byte
		for range rapid.IntRange(0, 20).Draw(rt, "writes") {
			at := rapid.IntRange(0, len(want)).Draw(rt, "at")
			data := rapid.SliceOfN(rapid.Byte(), 0, 30).Draw(rt, "data")
			if err := l.WriteAt(data, int64(at)); err != nil {
				rt.Fatal(err)
			}
			want = append(want[:at:at], data...)
		}
		if from, got := all(rt, l); from != 0 || !bytes.Equal(got, want) {
			rt.Fatalf("the log has %q from %d, want %q", got, from, want)
		}
		if n, err := l.Size(); err != nil || n != int64(len(want)) {
			rt.Fatalf("its size is %d, %v, want %d", n, err, len(want))
		}
	})
}

func TestTheOldestSegmentsAreDropped(t *testing.T) {
	l := Open(t.TempDir(), "out", Limits{Segment: 10, Keep: 25})
	text := bytes.Repeat([]byte("0123456789"), 10)
	for i := range text {
		if err := l.WriteAt(text[i:i+1], int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	from, got := all(t, l)
	if from != 70 || !bytes.Equal(got, text[70:]) {
		t.Errorf("%d bytes from %d are left, want 30 from 70", len(got), from)
	}
}

func TestALogThatNobodyWroteToIsEmpty(t *testing.T) {
	l := Open(t.TempDir()+"/none", "out", Limits{})
	if n, _, err := l.ReadAt(make([]byte, 1), 0); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("read %d, %v", n, err)
	}
	if n, err := l.Size(); n != 0 || err != nil {
		t.Errorf("size %d, %v", n, err)
	}
	if err := l.TruncateAt(0); err != nil {
		t.Error(err)
	}
}

func TestManyGapsLeaveFewFiles(t *testing.T) {
	dir := t.TempDir()
	l := Open(dir, "out", Limits{})
	for i := range int64(5 * maxSegments) {
		if err := l.WriteAt([]byte("x"), 2*i); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > maxSegments {
		t.Errorf("%d files, %v; at most %d", len(entries), err, maxSegments)
	}
	if n, err := l.Size(); err != nil || n != 2*5*maxSegments-1 {
		t.Errorf("its size is %d, %v: the newest must be there", n, err)
	}
}

func TestANegativeOffsetTouchesNothing(t *testing.T) {
	l := Open(t.TempDir(), "out", Limits{})
	if err := l.WriteAt([]byte("kept"), 0); err != nil {
		t.Fatal(err)
	}
	if err := l.WriteAt([]byte("lost"), -3); err == nil {
		t.Error("written before the beginning")
	}
	if _, got := all(t, l); string(got) != "kept" {
		t.Errorf("the log has %q", got)
	}
}

func TestAWriteThatFailedIsTakenUpWhereTheFilesAre(t *testing.T) {
	dir := t.TempDir()
	l := Open(dir, "out", Limits{})
	if err := l.WriteAt([]byte("ab"), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // no folder can be there
		t.Fatal(err)
	}
	if err := l.WriteAt([]byte("c"), 2); err == nil {
		t.Fatal("written into a folder that is not there")
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := l.WriteAt([]byte("c"), 2); err != nil {
		t.Fatal(err)
	}
	if from, got := all(t, l); from != 2 || string(got) != "c" {
		t.Errorf("the log has %q from %d", got, from)
	}
}

// The cost of a write may not grow with the segments that are there already.
func BenchmarkWriteWithGaps(b *testing.B) {
	l := Open(b.TempDir(), "out", Limits{})
	var at int64
	for b.Loop() {
		if err := l.WriteAt([]byte("x"), at); err != nil {
			b.Fatal(err)
		}
		at += 2
	}
}
