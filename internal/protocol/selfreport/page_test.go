package selfreport

import (
	"encoding/binary"
	"strings"
	"testing"
)

func pageWith(done, all uint64) []byte {
	page := NewPage()
	copy(page[StepsDoneAt:], FieldBytes(done))
	copy(page[StepsAllAt:], FieldBytes(all))
	return page
}

func TestAReportIsBelievedOnlyWhereItMakesSense(t *testing.T) {
	for _, c := range []struct {
		name      string
		page      []byte
		done, all uint64
		ok        bool
	}{
		{"nothing written", NewPage(), 0, 0, false},
		{"just begun", pageWith(0, 10), 0, 10, true},
		{"under way", pageWith(3, 10), 3, 10, true},
		{"a bump too many", pageWith(11, 10), 10, 10, true},
		{"steps without their number", pageWith(3, 0), 0, 0, false},
		{"the largest", pageWith(MaxSteps, MaxSteps), MaxSteps, MaxSteps, true},
		{"too many in all", pageWith(3, MaxSteps+1), 0, 0, false},
		{"too many done, as -1 is", pageWith(1<<64-1, 10), 0, 0, false},
		{"a file cut short", pageWith(3, 10)[:PageSize-1], 0, 0, false},
		{"an empty file", nil, 0, 0, false},
		{"the head written over", append(make([]byte, headerEnd), pageWith(3, 10)[headerEnd:]...), 3, 10, true},
	} {
		r, ok := ReadReport(c.page)
		if ok != c.ok || r.Done != c.done || r.All != c.all {
			t.Errorf("%s: %+v, %v", c.name, r, ok)
		}
	}
}

func TestAClientUsesOnlyPagesOfItsVersion(t *testing.T) {
	newer, larger := NewPage(), NewPage()
	binary.LittleEndian.PutUint32(newer[8:], 2)
	binary.LittleEndian.PutUint32(larger[12:], 8192)
	for _, c := range []struct {
		page []byte
		want string
	}{
		{NewPage(), ""}, {newer, "version 2"}, {larger, "8192 bytes"}, {nil, "not a page"},
		{make([]byte, PageSize), "not a page"}, {NewPage()[:100], "not a page"},
	} {
		err := CheckPage(c.page)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("want %q: %v", c.want, err)
		}
	}
}

// Others write clients: what stands where is fixed for good.
func TestThePageIsLaidOutAsDocumented(t *testing.T) {
	page := NewPage()
	if len(page) != 4096 || string(page[:8]) != "GODWITPG" || page[8] != 1 || page[13] != 0x10 {
		t.Errorf("a page begins with % x", page[:16])
	}
	got := []int{StopAt, CheckpointAt, OfferSizeAt, OfferSerialAt, StepsDoneAt, StepsAllAt, PhaseAt}
	for i, want := range []int{64, 72, 80, 88, 128, 136, 144} {
		if got[i] != want {
			t.Errorf("field %d is at %d, not at %d", i, got[i], want)
		}
	}
}

func FuzzReport(f *testing.F) {
	f.Add(NewPage())
	f.Add(pageWith(3, 10))
	f.Add(pageWith(1<<63, 1))
	f.Add([]byte("GODWITPG"))
	f.Fuzz(func(t *testing.T, page []byte) {
		_ = CheckPage(page) // does not panic
		r, ok := ReadReport(page)
		if ok && (r.All == 0 || r.Done > r.All || r.All > MaxSteps || len(page) < PageSize) || !ok && r != (Report{}) {
			t.Errorf("%+v, %v", r, ok)
		}
	})
}
