// Package app says how the applications of a simulation behave: how much
// faster they get with more processors, what they take of an offer, how long
// a change of size stops them, and how far their work has come. It decides
// nothing about scheduling, and it must not know of clusters, queues, policies
// or the events of the simulator.
package app

import "time"

// App is the behaviour that all jobs of one program share. It never changes
// once a simulation runs, so many jobs may point to one App.
type App struct {
	Name    string
	Speedup Speedup
	Accept  Acceptance
	Resize  time.Duration // how long it stands still when its size changes
}

// WorkRate is how many seconds of work, measured on one processor of a speed-1
// host, it finishes in a second with size processors of the given speed. What
// it holds but cannot use does not help: a powers-of-two application with 7
// processors runs as with 4.
func (a *App) WorkRate(size int, speed float64) float64 {
	return WorkRate(a.Speedup, a.Accept.UsableSize(size), speed)
}
