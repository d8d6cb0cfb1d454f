package engine

// LimitHolds sets how many held jobs a step looks at, for tests with few jobs.
func (e *Engine) LimitHolds(perStep int) { e.holdsPerStep = perStep }
