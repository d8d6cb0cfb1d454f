package poolwork

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"slices"
	"testing"
)

func TestItemsGoAsRanges(t *testing.T) {
	list := EncodeRanges([]int{7, 1, 2, 3, 9, 8})
	if !slices.Equal(list, []Range{{1, 3}, {7, 9}}) {
		t.Error(list)
	}
	if back, err := DecodeRanges(list, 6); err != nil || !slices.Equal(back, []int{1, 2, 3, 7, 8, 9}) {
		t.Error(back, err)
	}
	for _, wrong := range [][]Range{{{0, 6}}, {{0, 3}, {0, 3}}, {{-1, 0}}, {{3, 2}}, {{0, math.MaxInt}}, {{MaxItems, MaxItems}}} {
		if back, err := DecodeRanges(wrong, 6); !errors.Is(err, ErrRanges) {
			t.Errorf("%v: %v, %v", wrong, back, err)
		}
	}
}

func TestTheItemsOfATextAreItsLinesThatAreNotEmpty(t *testing.T) {
	got := SplitItems([]byte("a b\r\n\n\xff\xfe\nlast"))
	if len(got) != 3 || string(got[0]) != "a b" || string(got[1]) != "\xff\xfe" || string(got[2]) != "last" {
		t.Errorf("%q", got)
	}
}

func TestARecordComesBackAsItWasWritten(t *testing.T) {
	want := []Record{{Outcome: Outcome{Item: 3}}, {Outcome: Outcome{Item: MaxItems - 1, Code: 255, Out: []byte("out\n"),
		Err: []byte("err"), Cut: true}, Dropped: true}, {Outcome: Outcome{Code: 1}, Lost: true}}
	var buf []byte
	for i := range want {
		buf = AppendRecord(buf, &want[i])
	}
	in, at := bufio.NewReader(bytes.NewReader(buf)), int64(0)
	for i := range want {
		got, n, err := ReadRecord(in)
		if err != nil || !reflect.DeepEqual(*got, want[i]) {
			t.Fatalf("%+v, %v; want %+v", got, err, want[i])
		}
		at += n
	}
	if _, _, err := ReadRecord(in); !errors.Is(err, io.EOF) || at != int64(len(buf)) {
		t.Errorf("%v at %d of %d", err, at, len(buf))
	}
	for cut := 1; cut < len(buf); cut++ {
		in := bufio.NewReader(bytes.NewReader(buf[:cut]))
		var err error
		for err == nil {
			_, _, err = ReadRecord(in)
		}
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut after %d bytes: %v", cut, err)
		}
	}
}

func FuzzReadRecord(f *testing.F) {
	f.Add(AppendRecord(nil, &Record{Outcome: Outcome{Item: 300, Code: 2, Out: []byte("x")}, Lost: true}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, data []byte) {
		in := bufio.NewReader(bytes.NewReader(data))
		for {
			r, n, err := ReadRecord(in)
			if err != nil {
				return
			}
			if n <= 0 || r.Item >= MaxItems || r.Code > 255 || len(r.Out) > MaxOutput || len(r.Err) > MaxOutput {
				t.Fatalf("%d bytes: %+v", n, r)
			}
			again, _, err := ReadRecord(bufio.NewReader(bytes.NewReader(AppendRecord(nil, r))))
			if err != nil || !reflect.DeepEqual(again, r) {
				t.Fatalf("%+v became %+v: %v", r, again, err)
			}
		}
	})
}

func FuzzReport(f *testing.F) {
	f.Add([]byte(`{"pool":1,"job":2,"mark":"m","outcomes":[{"i":3,"c":1,"o":"YQ=="}],"holds":[[4,9]],"seconds":0.1}`))
	f.Add([]byte(`{"pool":1,"job":2,"mark":"m","holds":[[0,1000000000]],"seconds":1e300}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var r Report
		if json.Unmarshal(data, &r) != nil || r.CheckFields() != nil {
			return
		}
		if !(r.Seconds >= 0) || len(r.Outcomes) > MaxOutcomes || r.Job <= 0 {
			t.Fatalf("%+v", r)
		}
		for _, o := range r.Outcomes {
			if o.Item < 0 || o.Code < 0 || o.Code > 255 {
				t.Fatalf("%+v", o)
			}
		}
		items, err := DecodeRanges(r.Holds, MaxHeld)
		if err == nil && len(items) > MaxHeld {
			t.Fatalf("%d items", len(items))
		}
	})
}

func FuzzSplitItems(f *testing.F) {
	f.Add([]byte("a\n\r\nb"))
	f.Fuzz(func(t *testing.T, data []byte) {
		items := SplitItems(data)
		again := SplitItems(append(bytes.Join(items, []byte("\n")), '\n'))
		if len(items) > 0 && !reflect.DeepEqual(items, again) {
			t.Fatalf("%q became %q", items, again)
		}
	})
}
