package engine

import "github.com/godwit-hpc/godwit/internal/sched/world"

// LimitHolds sets how many held jobs a step looks at, for tests with few jobs.
func (e *Engine) LimitHolds(perStep int) { e.holdsPerStep = perStep }

// RetrialOn begins on a world that no snapshot tells all of: it has files and links.
func RetrialOn(w *world.World) *Retrial { return &Retrial{w: w} }
