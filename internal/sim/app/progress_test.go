package app_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/app"
)

func table(t testing.TB, points ...app.Point) *app.Table {
	t.Helper()
	s, err := app.NewTable(points)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAJobTakesTheTimeThatItsTableSaysToTheNanosecond(t *testing.T) {
	s := table(t, app.Point{Size: 2, Seconds: 600}, app.Point{Size: 4, Seconds: 420}, app.Point{Size: 7, Seconds: 333.3})
	for n, want := range map[int]float64{1: 1200, 2: 600, 4: 420, 7: 333.3, 50: 333.3} {
		start := core.AtSecond(12345)
		p := app.BeginProgress(s.SequentialTime(), start, app.WorkRate(s, n, 1))
		if got := p.FinishTime().Sub(start); got != core.DurationFromSeconds(want) {
			t.Errorf("with %d processors it takes %v, want %v s", n, got, want)
		}
	}
}

func TestAChangeOfSizeOnTheWayCountsTheWorkDoneBefore(t *testing.T) {
	p := app.BeginProgress(1000, 0, 2)
	p.SetRate(core.AtSecond(100), 8, 0) // 200 of 1000 done
	if got, want := p.FinishTime(), core.AtSecond(200); got != want {
		t.Errorf("ends at %v, want %v", got.Seconds(), want.Seconds())
	}
	p.SetRate(core.AtSecond(150), 4, 10*time.Second) // 600 done, then a pause
	for second, want := range map[float64]float64{150: 0.6, 160: 0.6, 210: 0.8, 260: 1, 300: 1} {
		if got := p.DonePart(core.AtSecond(second)); got != want {
			t.Errorf("at %v s: %v done, want %v", second, got, want)
		}
	}
	if got, want := p.FinishTime(), core.AtSecond(260); got != want {
		t.Errorf("ends at %v, want %v", got.Seconds(), want.Seconds())
	}
	if got := p.WorkLeft(core.AtSecond(210)); got != 200 {
		t.Errorf("%v s of work left, want 200", got)
	}
	if got := p.RemainingTime(core.AtSecond(210), 10); got != 20*time.Second {
		t.Errorf("would take %v at rate 10, want 20s", got)
	}
}

func TestASecondResizeDuringAPauseDoesNotShortenIt(t *testing.T) {
	p := app.BeginProgress(100, 0, 1)
	p.SetRate(core.AtSecond(50), 2, 10*time.Second)
	p.SetRate(core.AtSecond(55), 5, 0)
	if got, want := p.FinishTime(), core.AtSecond(70); got != want {
		t.Errorf("ends at %v, want %v", got.Seconds(), want.Seconds())
	}
}

func TestAStoppedJobGoesOnWhereItWas(t *testing.T) {
	p := app.ResumeProgress(1000, 0.25, core.AtSecond(50), 5)
	if got, want := p.FinishTime(), core.AtSecond(200); got != want {
		t.Errorf("ends at %v, want %v", got.Seconds(), want.Seconds())
	}
}

func TestAJobWithoutWorkEndsWhenItStartsAndOneWithoutProcessorsNever(t *testing.T) {
	empty := app.BeginProgress(0, core.AtSecond(5), 3)
	if empty.FinishTime() != core.AtSecond(5) || empty.DonePart(core.AtSecond(5)) != 1 || empty.DonePart(0) != 0 {
		t.Errorf("ends at %v with %v done", empty.FinishTime(), empty.DonePart(core.AtSecond(5)))
	}
	still := app.BeginProgress(1, 0, 0)
	if still.FinishTime() != core.Never || still.DonePart(core.AtSecond(1e9)) != 0 {
		t.Errorf("ends at %v", still.FinishTime())
	}
}

func TestTheEndNeverComesEarlyHoweverOftenTheRateChangesOrIsAskedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		work := rapid.Float64Range(0.001, 1e7).Draw(t, "work")
		rate := func() float64 { return rapid.Float64Range(0.01, 1000).Draw(t, "rate") }
		p := app.BeginProgress(work, 0, rate())
		now, left, fastest := core.Time(0), work, p.CurrentRate()
		for range rapid.IntRange(0, 20).Draw(t, "changes") {
			step := core.Time(rapid.Float64Range(0, 1).Draw(t, "step") * float64(p.FinishTime()-now))
			before := p.FinishTime()
			for i := range core.Time(3) {
				p.DonePart(now + step*i/3)
				p.SetRate(now+step*i/3, p.CurrentRate(), 0)
			}
			if p.FinishTime() != before {
				t.Fatalf("asking moved the end from %d to %d", before, p.FinishTime())
			}
			left -= p.CurrentRate() * time.Duration(step).Seconds()
			now += step
			p.SetRate(now, rate(), 0)
			fastest = max(fastest, p.CurrentRate())
		}
		end := p.FinishTime()
		if p.DonePart(end) != 1 || p.WorkLeft(end) != 0 || end > now && p.DonePart(end-1) == 1 {
			t.Fatalf("at its end %v is done, a nanosecond before %v", p.DonePart(end), p.DonePart(end-1))
		}
		// What is left by an independent count is less than a nanosecond
		// of work, up to the roundings of that count.
		over := p.CurrentRate()*time.Duration(end-now).Seconds() - left
		if slack := work * 1e-12; over < -slack || over > fastest*1e-9+slack {
			t.Fatalf("ends with %g s of work too much", over)
		}
	})
}

func TestProgressCostsNoAllocation(t *testing.T) {
	var end core.Time
	a := &app.App{Speedup: table(t, app.Point{Size: 2, Seconds: 600}, app.Point{Size: 40, Seconds: 100}),
		Accept: app.PowersOfTwo}
	if n := testing.AllocsPerRun(100, func() {
		p := app.BeginProgress(1000, 0, a.WorkRate(2, 1))
		p.SetRate(core.AtSecond(10), a.WorkRate(12, 1.5), time.Second)
		end += p.FinishTime() + core.Time(p.RemainingTime(core.AtSecond(20), a.WorkRate(3, 1)))
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestProcessorsThatCannotBeUsedDoNotHelp(t *testing.T) {
	a := &app.App{Speedup: app.Linear{}, Accept: app.PowersOfTwo}
	if got := a.WorkRate(7, 1.5); got != 6 {
		t.Errorf("rate with 7 processors of speed 1.5 is %v, want that of 4", got)
	}
}

func BenchmarkProgress(b *testing.B) {
	d := app.Downey{A: 64, Sigma: 1.5}
	p := app.BeginProgress(1e9, 0, 1)
	now := core.Time(0)
	for b.Loop() {
		now++
		p.SetRate(now, d.SpeedupAt(int(now)&63+1), 0)
		_ = p.FinishTime()
	}
}
