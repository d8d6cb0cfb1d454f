package agent

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// feed gives a chance again and again, a sample apart, and counts the questions.
func feed(q *moveRequests, now *time.Duration, chance float64, samples int, left time.Duration) (asked int) {
	for range samples {
		*now += q.sample
		if q.isInDanger(chance, *now, left) {
			asked++
		}
	}
	return asked
}

func TestTheBrokerIsAskedWhenTheChanceIsTooSmallForLongEnough(t *testing.T) {
	now := time.Duration(0)
	q := &moveRequests{confidence: 0.95, sample: 2 * time.Second}
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
	start := func() (*moveRequests, *time.Duration) {
		now := time.Duration(0)
		q := &moveRequests{confidence: 0.95, sample: 2 * time.Second}
		if n := feed(q, &now, 0.8, minSamples, time.Hour); n != 1 {
			t.Fatalf("asked %d times", n)
		}
		q.recordAnswer(now)
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
		for !q.isInDanger(0.79, *now, time.Hour) {
			*now += q.sample
		}
		pauses = append(pauses, *now-from)
		q.recordAnswer(*now)
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
	q := &moveRequests{confidence: 0.9, sample: 2 * time.Second}
	feed(q, &now, 0.5, minSamples, time.Hour)
	for range 4 {
		q.recordAnswer(now)
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
		q := &moveRequests{confidence: rapid.Float64Range(0.5, 0.99).Draw(t, "confidence"),
			sample: time.Duration(rapid.IntRange(100, 120_000).Draw(t, "ms")) * time.Millisecond}
		now, last := time.Duration(0), time.Duration(-1)
		for i := range rapid.IntRange(1, 60).Draw(t, "samples") {
			now += q.sample
			if q.isInDanger(rapid.Float64Range(0, 1).Draw(t, "chance"), now, time.Hour-now) {
				if i+1 < 3 || last >= 0 && now-last < 2*q.sample {
					t.Fatalf("asked at %v, before that at %v", now, last)
				}
				last = now
			}
			if rapid.Bool().Draw(t, "answer") {
				q.recordAnswer(now)
			}
		}
		for range 3 {
			asked := false
			for range int(maxPause/q.sample) + 400 {
				now += q.sample
				asked = asked || q.isInDanger(0, now, -time.Second)
			}
			if !asked {
				t.Fatal("a lost deadline is forgotten")
			}
			q.recordAnswer(now)
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
		s    saving
		want time.Duration
	}{
		{"nothing is known yet", saving{}, firstSave},
		{"as the user wants", saving{every: 5 * time.Second, frozen: time.Second}, 5 * time.Second},
		{"a cheap save is not made all the time", saving{frozen: time.Microsecond}, minSaveInterval},
		{"bringing it away takes long", saving{frozen: time.Millisecond, took: time.Minute}, 10 * time.Minute},
		{"a cost of 1 s and a failure a day", saving{frozen: time.Second}, 415 * time.Second},
		{"a failure an hour", saving{frozen: time.Second, mtbf: time.Hour}, 84 * time.Second},
		{"saves that failed", saving{every: 5 * time.Second, failed: 2}, 20 * time.Second},
	} {
		if got, ok := c.s.nextSave(); !ok || (got-c.want).Abs() > time.Second {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
	if _, ok := (&saving{every: -1}).nextSave(); ok {
		t.Error("saved although the user does not want it")
	}
	s := saving{took: 10 * time.Second}
	if s.worthIt(15*time.Second) || !s.worthIt(time.Minute) || !s.worthIt(-1) {
		t.Error("a program about to end is saved, or one that is not, is not")
	}
}

func TestTheMethodIsChosenForAReason(t *testing.T) {
	box, none := func() string { return "" }, func() string { return "no user namespaces" }
	never := func() string { t.Error("the sandbox was looked for without need"); return "" }
	const long, short = time.Hour, 3 * time.Second
	for _, c := range []struct {
		what        string
		w           wish
		method, why string
		trial       bool
	}{
		{"what the job says", wish{method: "restart", noBox: never, cost: 1}, "restart", "the job says so", false},
		{"what the job says", wish{method: "sandbox", noBox: box, cost: 9}, "sandbox", "the job says so", false},
		{"a signal", wish{method: "auto", signal: "USR1", noBox: never, cost: 1}, "signal", "SIGUSR1", false},
		{"files", wish{files: []string{"state"}, noBox: never, cost: 1, due: true}, "exit85", "files", false},
		{"a cheap sandbox", wish{cost: 1.01, noBox: box, due: true, expect: long}, "sandbox", "1.01 times", false},
		{"a cheap sandbox, no deadline, long", wish{cost: 1.01, noBox: box, expect: long}, "sandbox", "1.01 times", false},
		{"a cheap sandbox, no deadline, not so long", wish{cost: 1.01, noBox: never, expect: time.Minute}, "restart", "no deadline", false},
		{"a dear sandbox", wish{cost: 1.5, noBox: never, due: true, expect: long}, "restart", "1.50 times", false},
		{"no sandbox", wish{cost: 1, noBox: none, due: true}, "restart", "no user namespaces", false},
		{"a short program", wish{cost: 1, noBox: never, due: true, expect: short}, "restart", "about 3s", false},
		{"nobody knows, and it may have to be moved", wish{noBox: box, due: true, predict: true, expect: long}, "sandbox", "measured", true},
		{"nobody knows, and no sandbox", wish{noBox: none, due: true, predict: true}, "restart", "no user namespaces", false},
		{"nobody knows how long it takes", wish{noBox: never, due: true}, "restart", "nothing could tell", false},
		{"nobody knows, no deadline", wish{noBox: never}, "restart", "is unknown", false},
	} {
		got, err := chooseMethod(c.w)
		if err != nil || got.method != c.method || !strings.Contains(got.why, c.why) || got.trial != c.trial {
			t.Errorf("%s: %+v, %v", c.what, got, err)
		}
	}
	for what, w := range map[string]wish{
		"no sandbox": {method: "sandbox", noBox: none}, "no signal": {method: "signal"}, "unheard of": {method: "criu"},
	} {
		if got, err := chooseMethod(w); err == nil {
			t.Errorf("%s: chose %+v", what, got)
		}
	}
}

func TestWhatTheSandboxCostsIsMeasured(t *testing.T) {
	s := func(at, total, sentry float64) boxed {
		d := func(x float64) time.Duration { return time.Duration(x * float64(time.Second)) }
		return boxed{d(at), d(total), d(sentry)}
	}
	// As measured on a busy machine, see docs/decisions/0010.
	for _, c := range []struct {
		what string
		to   boxed
		low  float64
		high float64
		ok   bool
	}{
		{"too early", s(2, 0.5, 0.1), 0, 0, false},
		{"compute", s(10.1, 2.92, 0.42), 1, acceptable, true},
		{"one system call after the other", s(13.7, 4.12, 1.88), 2, 20, true},
		{"a system call every 5 µs", s(18.7, 4.6, 1.69), 2, 10, true},
		{"threads that wait for each other", s(22.9, 12.3, 6.19), 4, 20, true},
		{"forks", s(24.5, 6.4, 4.23), 5, 40, true},
		{"asleep", s(12, 0.2, 0.15), 1, 1, true},
	} {
		got, ok := sandboxSlowdown(boxed{}, c.to)
		if ok != c.ok || got < c.low || got > c.high {
			t.Errorf("%s: %v, %v; want %v to %v", c.what, got, ok, c.low, c.high)
		}
	}
}

func TestWhatTheSandboxWouldCostIsGuessed(t *testing.T) {
	sec := func(x float64) time.Duration { return time.Duration(x * float64(time.Second)) }
	for _, c := range []struct {
		what string
		s    spent
		low  float64
		high float64
	}{
		{"too short", spent{user: sec(0.5)}, 0, 0},
		{"compute", spent{sec(27.3), sec(0.12), 100, 9500}, 1, acceptable},
		{"much memory", spent{sec(3), sec(15), 560, 7_000_000}, 0, 2}, // between: not told
		{"system calls", spent{sec(6.2), sec(2.1), 1000, 9000}, clearlyMuch, 100},
		{"threads that wait for each other", spent{sec(13), sec(7), 2_800_000, 9000}, clearlyMuch, 100},
		{"between", spent{sec(20), sec(0.4), 1000, 3000}, 0, 0},
	} {
		if got := guessSandboxCost(c.s); got < c.low || got > c.high {
			t.Errorf("%s: %v, want %v to %v", c.what, got, c.low, c.high)
		}
	}
}
