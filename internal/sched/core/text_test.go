package core

import (
	"encoding"
	"fmt"
	"math"
	"strings"
	"testing"
)

// enum is one of the small enumerations: how many members it has, and a
// member by number.
type enum struct {
	name  string
	first int
	count int
	value func(i int) encoding.TextMarshaler
	parse func(text []byte) (fmt.Stringer, error)
}

func enumOf[T any, P interface {
	*T
	encoding.TextUnmarshaler
}](name string, first, count int, of func(int) T) enum {
	return enum{name, first, count,
		func(i int) encoding.TextMarshaler { return any(of(i)).(encoding.TextMarshaler) },
		func(text []byte) (fmt.Stringer, error) {
			v := new(T)
			err := P(v).UnmarshalText(text)
			return any(*v).(fmt.Stringer), err
		}}
}

func enums() []enum {
	return []enum{
		enumOf("kind", 0, len(kindNames), func(i int) Kind { return Kind(i) }),
		enumOf("placement policy", 0, len(placeNames), func(i int) PlacePolicy { return PlacePolicy(i) }),
		enumOf("state", 0, len(stateNames), func(i int) State { return State(i) }),
		enumOf("event", 1, len(eventNames), func(i int) EventKind { return EventKind(i) }),
		enumOf("event of a workflow", 1, len(flowEventNames), func(i int) FlowEventKind { return FlowEventKind(i) }),
		enumOf("input", 0, len(inputNames), func(i int) InputKind { return InputKind(i) }),
		enumOf("command", 1, len(commandNames), func(i int) CommandKind { return CommandKind(i) }),
		enumOf("condition", 0, len(conditionNames), func(i int) Condition { return Condition(i) }),
		enumOf("hold", 0, len(holdNames), func(i int) Hold { return Hold(i) }),
		enumOf("reason", 0, int(numReasons), func(i int) ReasonCode { return ReasonCode(i) }),
	}
}

func TestEveryEnumerationIsReadBackAsItWasWritten(t *testing.T) {
	for _, e := range enums() {
		seen := map[string]bool{}
		for i := e.first; i < e.count; i++ {
			v := e.value(i)
			text, err := v.MarshalText()
			if err != nil || len(text) == 0 || seen[string(text)] {
				t.Fatalf("%s %d is written %q, %v", e.name, i, text, err)
			}
			seen[string(text)] = true
			back, err := e.parse(text)
			if err != nil || fmt.Sprint(back) != fmt.Sprint(v) {
				t.Errorf("%s %q is read back as %v, %v", e.name, text, back, err)
			}
		}
	}
}

func TestWhatCouldNotBeReadBackIsNotWritten(t *testing.T) {
	for _, e := range enums() {
		if text, err := e.value(e.count).MarshalText(); err == nil {
			t.Errorf("%s %d is written %q", e.name, e.count, text)
		}
		if e.first > 0 {
			if text, err := e.value(0).MarshalText(); err == nil {
				t.Errorf("%s 0 is written %q", e.name, text)
			}
		}
	}
}

func TestUnknownNamesAreRefusedWithTheName(t *testing.T) {
	for _, e := range enums() {
		for _, bad := range []string{"nonsense", "", "unknown"} {
			if _, err := e.parse([]byte(bad)); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", bad)) {
				t.Errorf("%s %q is read with error %v", e.name, bad, err)
			}
		}
	}
}

func TestANumberWithoutANameIsCalledUnknown(t *testing.T) {
	for _, e := range enums() {
		if got := fmt.Sprint(e.value(e.count + 1)); got != "unknown" {
			t.Errorf("%s %d is called %q", e.name, e.count+1, got)
		}
	}
}

func TestEveryReasonIsASentenceWithItsNumbers(t *testing.T) {
	for c := NoReason; c < numReasons; c++ {
		for _, ab := range [][2]float64{{0, 0}, {12, 34}, {0.125, 1e9}, {math.Inf(1), math.NaN()}} {
			s := Reason{c, ab[0], ab[1]}.String()
			if strings.ContainsAny(s, "{}") || strings.TrimSpace(s) != s || (s == "") != (c == NoReason) {
				t.Errorf("reason %v with %v reads %q", c, ab, s)
			}
		}
		if strings.Contains(reasons[c].sentence, "{B}") && !strings.Contains(Reason{c, 12, 34}.String(), "34") {
			t.Errorf("reason %v does not say its second number: %v", c, Reason{c, 12, 34})
		}
	}
	if got, want := (Reason{BestChance, 2. / 3, 1234567}).String(),
		"best chance of meeting its deadline: 67 %; expected to end after 14.3 d"; got != want {
		t.Errorf("best-chance reads %q, want %q", got, want)
	}
	if got := (Reason{Code: numReasons}).String(); got != "unknown" {
		t.Errorf("a code without a sentence reads %q", got)
	}
	if got, want := (Reason{NoRoom, 8, 5}).String(), "waiting for 8 cores (at most 5 free in one cluster)"; got != want {
		t.Errorf("no-room reads %q, want %q", got, want)
	}
}

func TestNumbersInReasonsAgreeWithTheirNouns(t *testing.T) {
	for _, c := range []struct {
		why  Reason
		want string
	}{
		{Reason{NoRoom, 1, 0}, "waiting for 1 core (none free)"},
		{Reason{CancelRequested, 0, 0}, "cancelled by the user: SIGKILL at once"},
		{Reason{CancelRequested, 30, 0}, "cancelled by the user: SIGTERM, and SIGKILL after 30 s"},
		{Reason{NotWorthMoving, 0.4, 0.001},
			"the chance of meeting its deadline is 40 % here and below 1 % on the best other cluster"},
		{Reason{ClusterStarted, 1, 0}, "running on 1 core"},
		{Reason{ClusterStarted, 4, 0}, "running on 4 cores"},
		{Reason{HostLost, 1, 0}, "host failure: lost 1 core"},
		{Reason{EarliestEnd, 127.089, 0}, "expected to end soonest here: after 2 min"},
	} {
		if got := c.why.String(); got != c.want {
			t.Errorf("%v reads %q, want %q", c.why.Code, got, c.want)
		}
	}
}
