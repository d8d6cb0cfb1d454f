package checkpointing

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// feed gives a chance again and again, a sample apart, and counts the questions.
func feed(q *DeadlineAlarm, now *time.Duration, chance float64, samples int, left time.Duration) (asked int) {
	for range samples {
		*now += q.SampleInterval
		if q.IsInDanger(chance, *now, left) {
			asked++
		}
	}
	return asked
}

func TestTheBrokerIsAskedWhenTheChanceIsTooSmallForLongEnough(t *testing.T) {
	now := time.Duration(0)
	q := &DeadlineAlarm{Confidence: 0.95, SampleInterval: 2 * time.Second}
	if n := feed(q, &now, 0.5, minSamples-1, time.Hour); n > 0 {
		t.Error("asked while the program was still beginning")
	}
	if n := feed(q, &now, 0.96, 20, time.Hour); n > 0 {
		t.Error("asked without need")
	}
	if n := feed(q, &now, 0.9, 1, time.Hour); n > 0 {
		t.Error("asked after a single sample")
	}
	if n := feed(q, &now, 0.9, 1, time.Hour); n != 1 {
		t.Error("not asked")
	}
	if n := feed(q, &now, 0.1, 10, time.Hour); n > 0 {
		t.Error("asked again although no answer has come")
	}
	if n := feed(q, &now, 0.1, 10, time.Hour); n != 1 {
		t.Error("not asked again although the answer must have been lost")
	}
}

func TestAfterARefusalTheBrokerIsAskedWhenThingsGotWorseOrAfterAWhile(t *testing.T) {
	start := func() (*DeadlineAlarm, *time.Duration) {
		now := time.Duration(0)
		q := &DeadlineAlarm{Confidence: 0.95, SampleInterval: 2 * time.Second}
		if n := feed(q, &now, 0.8, minSamples, time.Hour); n != 1 {
			t.Fatalf("asked %d times", n)
		}
		q.RecordAnswer(now)
		return q, &now
	}
	q, now := start()
	if n := feed(q, now, 0.79, 4, time.Hour); n > 0 {
		t.Error("asked again at once")
	}
	q, now = start()
	if n := feed(q, now, 0.6, 3, time.Hour); n != 1 {
		t.Error("not asked although it got much worse")
	}
	// Each refusal makes the pause longer, but the deadline is not waited for.
	q, now = start()
	var pauses []time.Duration
	for range 5 {
		from := *now
		for !q.IsInDanger(0.79, *now, time.Hour) {
			*now += q.SampleInterval
		}
		pauses = append(pauses, *now-from)
		q.RecordAnswer(*now)
	}
	for i := 1; i < len(pauses); i++ {
		if pauses[i] <= pauses[i-1] {
			t.Errorf("pauses %v do not grow", pauses)
		}
	}
	if n := feed(q, now, 0.79, 10, 40*time.Second); n < 1 {
		t.Errorf("asked %d times in the last 40 s", n)
	}
}

func TestADangerThatWasOverIsANewOne(t *testing.T) {
	now := time.Duration(0)
	q := &DeadlineAlarm{Confidence: 0.9, SampleInterval: 2 * time.Second}
	feed(q, &now, 0.5, minSamples, time.Hour)
	for range 4 {
		q.RecordAnswer(now)
		q.open = true
	}
	q.open = false
	feed(q, &now, 0.99, 3, time.Hour)
	if n := feed(q, &now, 0.8, 2, time.Hour); n != 1 {
		t.Errorf("asked %d times about a new danger", n)
	}
}

// However chances, answers and times fall, questions are never closer together
// than two samples, never come before enough samples, and an unending danger is
// asked about again and again.
func TestQuestionsAreNeitherTooManyNorForgotten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := &DeadlineAlarm{Confidence: rapid.Float64Range(0.5, 0.99).Draw(t, "confidence"),
			SampleInterval: time.Duration(rapid.IntRange(100, 120_000).Draw(t, "ms")) * time.Millisecond}
		now, last := time.Duration(0), time.Duration(-1)
		for i := range rapid.IntRange(1, 60).Draw(t, "samples") {
			now += q.SampleInterval
			if q.IsInDanger(rapid.Float64Range(0, 1).Draw(t, "chance"), now, time.Hour-now) {
				if i+1 < 3 || last >= 0 && now-last < 2*q.SampleInterval {
					t.Fatalf("asked at %v, before that at %v", now, last)
				}
				last = now
			}
			if rapid.Bool().Draw(t, "answer") {
				q.RecordAnswer(now)
			}
		}
		for range 3 {
			asked := false
			for range int(maxPause/q.SampleInterval) + 400 {
				now += q.SampleInterval
				asked = asked || q.IsInDanger(0, now, -time.Second)
			}
			if !asked {
				t.Fatal("a lost deadline is forgotten")
			}
			q.RecordAnswer(now)
		}
	})
}

func TestTheIntervalBetweenSavesIsDalys(t *testing.T) {
	// Young's approximation holds for small costs.
	if got, want := optimalInterval(1, 86400), math.Sqrt(2*86400.0); math.Abs(got-want) > 0.01*want {
		t.Errorf("%v, want about %v", got, want)
	}
	if got := optimalInterval(100, 40); got != 40 {
		t.Errorf("saving costs more than a failure: %v", got)
	}
	for _, c := range []struct {
		what string
		s    SaveSchedule
		want time.Duration
	}{
		{"nothing is known yet", SaveSchedule{}, firstSave},
		{"as the user wants", SaveSchedule{Every: 5 * time.Second, Frozen: time.Second}, 5 * time.Second},
		{"a cheap save is not made all the time", SaveSchedule{Frozen: time.Microsecond}, MinSaveInterval},
		{"bringing it away takes long", SaveSchedule{Frozen: time.Millisecond, Took: time.Minute}, 10 * time.Minute},
		{"a cost of 1 s and a failure a day", SaveSchedule{Frozen: time.Second}, 415 * time.Second},
		{"a failure an hour", SaveSchedule{Frozen: time.Second, MTBF: time.Hour}, 84 * time.Second},
		{"saves that failed", SaveSchedule{Every: 5 * time.Second, Failed: 2}, 20 * time.Second},
	} {
		if got, ok := c.s.NextSave(); !ok || (got-c.want).Abs() > time.Second {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
	if _, ok := (&SaveSchedule{Every: -1}).NextSave(); ok {
		t.Error("saved although the user does not want it")
	}
	s := SaveSchedule{Took: 10 * time.Second}
	if s.IsWorthIt(15*time.Second) || !s.IsWorthIt(time.Minute) || !s.IsWorthIt(-1) {
		t.Error("a program about to end is saved, or one that is not, is not")
	}
}

func TestTheMethodIsChosenForAReason(t *testing.T) {
	box, none := func() string { return "" }, func() string { return "no user namespaces" }
	never := func() string { t.Error("the sandbox was looked for without need"); return "" }
	const long, short = time.Hour, 3 * time.Second
	for _, c := range []struct {
		what        string
		w           MethodInputs
		method, why string
		trial       bool
	}{
		{"what the job says", MethodInputs{Method: "restart", WhyNoSandbox: never, SandboxCost: 1}, "restart",
			"the job says so", false},
		{"what the job says", MethodInputs{Method: "sandbox", WhyNoSandbox: box, SandboxCost: 9}, "sandbox",
			"the job says so", false},
		{"a signal", MethodInputs{Method: "auto", Signal: "USR1", WhyNoSandbox: never, SandboxCost: 1}, "signal", "SIGUSR1",
			false},
		{"files", MethodInputs{Files: []string{"state"}, WhyNoSandbox: never, SandboxCost: 1, HasDeadline: true}, "exit85",
			"files", false},
		{"a cheap sandbox", MethodInputs{SandboxCost: 1.01, WhyNoSandbox: box, HasDeadline: true, ExpectedRun: long},
			"sandbox", "1.01 times", false},
		{"a cheap sandbox, no deadline, long", MethodInputs{SandboxCost: 1.01, WhyNoSandbox: box, ExpectedRun: long},
			"sandbox", "1.01 times", false},
		{"a cheap sandbox, no deadline, not so long",
			MethodInputs{SandboxCost: 1.01, WhyNoSandbox: never, ExpectedRun: time.Minute}, "restart", "no deadline", false},
		{"a dear sandbox", MethodInputs{SandboxCost: 1.5, WhyNoSandbox: never, HasDeadline: true, ExpectedRun: long},
			"restart", "1.50 times", false},
		{"no sandbox", MethodInputs{SandboxCost: 1, WhyNoSandbox: none, HasDeadline: true}, "restart", "no user namespaces",
			false},
		{"a short program", MethodInputs{SandboxCost: 1, WhyNoSandbox: never, HasDeadline: true, ExpectedRun: short},
			"restart", "about 3s", false},
		{"nobody knows, and it may have to be moved",
			MethodInputs{WhyNoSandbox: box, HasDeadline: true, IsPredictable: true, ExpectedRun: long}, "sandbox", "measured",
			true},
		{"nobody knows, and no sandbox", MethodInputs{WhyNoSandbox: none, HasDeadline: true, IsPredictable: true}, "restart",
			"no user namespaces", false},
		{"nobody knows how long it takes", MethodInputs{WhyNoSandbox: never, HasDeadline: true}, "restart",
			"nothing could tell", false},
		{"nobody knows, no deadline", MethodInputs{WhyNoSandbox: never}, "restart", "is unknown", false},
	} {
		got, err := ChooseMethod(c.w)
		if err != nil || got.Method != c.method || !strings.Contains(got.Why, c.why) || got.Trial != c.trial {
			t.Errorf("%s: %+v, %v", c.what, got, err)
		}
	}
	for what, w := range map[string]MethodInputs{
		"no sandbox": {Method: "sandbox", WhyNoSandbox: none}, "no signal": {Method: "signal"},
		"unheard of": {Method: "criu"},
	} {
		if got, err := ChooseMethod(w); err == nil {
			t.Errorf("%s: chose %+v", what, got)
		}
	}
}

func TestWhatTheSandboxCostsIsMeasured(t *testing.T) {
	s := func(at, total, sentry float64) SandboxUsage {
		d := func(x float64) time.Duration { return time.Duration(x * float64(time.Second)) }
		return SandboxUsage{At: d(at), Total: d(total), Sentry: d(sentry)}
	}
	starved := func(u SandboxUsage, delayed float64) SandboxUsage {
		u.Ran, u.Delayed = u.Total, time.Duration(delayed*float64(time.Second))
		return u
	}
	// As measured on a busy machine, see docs/decisions/0010.
	for _, c := range []struct {
		what string
		to   SandboxUsage
		low  float64
		high float64
		ok   bool
	}{
		{"too early", s(2, 0.5, 0.1), 0, 0, false},
		{"compute", s(10.1, 2.92, 0.42), 1, AcceptableSlowdown, true},
		{"one system call after the other", s(13.7, 4.12, 1.88), 2, 20, true},
		{"a system call every 5 µs", s(18.7, 4.6, 1.69), 2, 10, true},
		{"threads that wait for each other", s(22.9, 12.3, 6.19), 4, 20, true},
		{"forks", s(24.5, 6.4, 4.23), 5, 40, true},
		{"asleep", s(12, 0.2, 0.15), 1, 1, true},
		{"asleep on a busy machine, too early", starved(s(12, 0.2, 0.15), 0.2), 0, 0, false},
		{"asleep on a busy machine", starved(s(24, 0.4, 0.3), 0.4), 1, 1, true},
		{"system calls without a processor, too early", starved(s(12, 0.2, 0.12), 19), 0, 0, false},
		{"system calls without a processor", starved(s(61, 1, 0.6), 100), 2, NeverSandbox / 2, true},
		{"nothing but system calls", s(10, 1.1, 1), 2, NeverSandbox / 2, true},
	} {
		got, ok := SandboxSlowdown(SandboxUsage{}, c.to)
		if ok != c.ok || got < c.low || got > c.high {
			t.Errorf("%s: %v, %v; want %v to %v", c.what, got, ok, c.low, c.high)
		}
	}
}

func TestWhatTheSandboxWouldCostIsGuessed(t *testing.T) {
	sec := func(x float64) time.Duration { return time.Duration(x * float64(time.Second)) }
	for _, c := range []struct {
		what string
		s    ProcessUsage
		low  float64
		high float64
	}{
		{"too short", ProcessUsage{User: sec(0.5)}, 0, 0},
		{"compute", ProcessUsage{sec(27.3), sec(0.12), 100, 9500}, 1, AcceptableSlowdown},
		{"much memory", ProcessUsage{sec(3), sec(15), 560, 7_000_000}, 0, 2}, // between: not told
		{"system calls", ProcessUsage{sec(6.2), sec(2.1), 1000, 9000}, clearlyMuch, 100},
		{"threads that wait for each other", ProcessUsage{sec(13), sec(7), 2_800_000, 9000}, clearlyMuch, 100},
		{"between", ProcessUsage{sec(20), sec(0.4), 1000, 3000}, 0, 0},
	} {
		if got := GuessSandboxCost(c.s); got < c.low || got > c.high {
			t.Errorf("%s: %v, want %v to %v", c.what, got, c.low, c.high)
		}
	}
}
