package sim

// Disturbances is what happens to the grid besides our jobs.
type Disturbances struct{}

type foreignJob struct{}

func (s *Simulator) scheduleDisturbances() {}
func (s *Simulator) disturb(e *entry)      {}
func (s *Simulator) foreignStarts(q int64) {}
