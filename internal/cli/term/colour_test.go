package term

import (
	"strings"
	"testing"
)

func TestStatesArePaintedWithoutShiftingColumns(t *testing.T) {
	tab := NewTable("job", "state", "cluster")
	tab.Paint = PaintStates
	tab.AddRow("1", "failed", "left")
	tab.AddRow("2", "running", "left")
	tab.AddRow("3", "pending", "left")
	var b strings.Builder
	if err := tab.PrintTable(&b, 80); err != nil {
		t.Fatal(err)
	}
	want := "job  state    cluster\n1    \x1b[31mfailed\x1b[0m   left\n2    \x1b[32mrunning\x1b[0m  left\n3    pending  " +
		"left\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
