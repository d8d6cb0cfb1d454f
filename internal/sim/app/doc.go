// Package app says how the applications of a simulation behave: how much
// faster they get with more processors, what they take of an offer, how long
// a change of size stops them, and how far their work has come. It decides
// nothing about scheduling, and it must not know of clusters, queues, policies
// or the events of the simulator.
package app

import (
	"math"
	"time"
)

// App is the behaviour that all jobs of one program share. It never changes
// once a simulation runs, so many jobs may point to one App.
type App struct {
	Name    string
	Speedup Speedup
	Accept  Acceptance
	Resize  time.Duration // how long it stands still when its size changes

	Phases    int     // equal parts whose ends it reports; 0: none
	Data      int64   // bytes of a checkpoint
	Predicted float64 // time that a model of it predicts, as a factor of the true one; 0: 1
}

// PredictionFactor is by which factor a model of it is wrong.
func (a *App) PredictionFactor() float64 {
	if a.Predicted > 0 {
		return a.Predicted
	}
	return 1
}

// NextPhase is the part of a program that is done when the phase ends in which it is, of so many.
func NextPhase(done float64, phases int) float64 {
	const rounding = 1e-9
	return min(1, (math.Floor(done*float64(phases)+rounding)+1)/float64(phases))
}

// WorkRate is how many seconds of work, measured on one processor of a speed-1
// host, it finishes in a second with size processors of the given speed. What
// it holds but cannot use does not help: a powers-of-two application with 7
// processors runs as with 4.
func (a *App) WorkRate(size int, speed float64) float64 {
	return WorkRate(a.Speedup, a.Accept.UsableSize(size), speed)
}
