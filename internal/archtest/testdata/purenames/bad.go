//as internal/sched/core

package core

import (
	"fmt"
	"math/rand/v2"
	stopwatch "time"
)

func clocks(t stopwatch.Time) {
	_ = stopwatch.Now()                   // want `uses time.Now: .* told the time`
	_ = stopwatch.Since(t)                // want `uses time.Since`
	_ = stopwatch.Until(t)                // want `uses time.Until`
	stopwatch.Sleep(stopwatch.Second)     // want `uses time.Sleep`
	_ = stopwatch.After(1)                // want `uses time.After`
	_ = stopwatch.Tick(1)                 // want `uses time.Tick`
	_ = stopwatch.NewTimer(1)             // want `uses time.NewTimer`
	_ = stopwatch.NewTicker(1)            // want `uses time.NewTicker`
	_ = stopwatch.AfterFunc(1, func() {}) // want `uses time.AfterFunc`
	_ = t.In(stopwatch.Local)             // want `uses time.Local`
	_ = t.Local()                         // want `uses time.Local`
	ask := stopwatch.Now                  // want `uses time.Now`
	_ = ask

	// Arithmetic on times is no clock.
	_ = t.After(t.Add(3 * stopwatch.Minute))
	_ = stopwatch.Unix(0, 0).UTC()
}

func chance(src rand.Source) int {
	r := rand.New(rand.NewPCG(1, 2))
	_ = rand.New(src).Float64()
	_ = rand.IntN(3)                   // want `shared source of rand.IntN: .* seed`
	rand.Shuffle(2, func(i, j int) {}) // want `shared source of rand.Shuffle`
	return r.IntN(3)
}

func words() string {
	fmt.Println("hello") // want `uses fmt.Println: .* no I/O`
	println("hello")     // want `uses println`
	return fmt.Sprintln("hello")
}

// Our own names may be called as they like.
type timer struct{ Now, Local int }

func (t timer) Sleep() int { return t.Now + t.Local }

func Println() int { return timer{}.Sleep() }

var _ = Println()
