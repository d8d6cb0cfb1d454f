package history

// RestoreCost is what an agent counts for restoring of what it says that saving, moving
// and restoring costs, of which rows has the save; 0 if that cannot be told.
func RestoreCost(rows []Transfer, save *Transfer, cost float64) float64 {
	for i := range rows {
		if r := &rows[i]; r.What == Save && r.Job == save.Job {
			return max(0, cost-r.Seconds)
		}
	}
	return 0
}

// CheckpointSize is how many bytes a checkpoint has: as many as the last one of the
// job; else of its program; else as its memory.
func CheckpointSize(rows []Transfer, like *Transfer, memory int64) float64 {
	size, own := memory, false
	for i := len(rows) - 1; i >= 0; i-- { // the newest, which is the first, counts
		r := &rows[i]
		if r.What == Save && r.Method == like.Method && r.Program == like.Program && (!own || r.Job == like.Job) {
			size, own = r.Bytes, r.Job == like.Job
		}
	}
	return float64(size)
}

// SentPart is which part of a checkpoint's bytes is sent to somebody who has none of
// them, compressed as they are. That is the most that was sent of any that was saved:
// of the first the depot had nothing either.
func SentPart(rows []Transfer, like *Transfer) float64 {
	own, others := 0.0, 0.0
	for i := range rows {
		r := &rows[i]
		if r.What != Save || r.Method != like.Method || r.Bytes <= 0 {
			continue
		}
		part := min(1, float64(r.Sent)/float64(r.Bytes))
		if others = max(others, part); r.Program == like.Program {
			own = max(own, part)
		}
	}
	switch {
	case own > 0:
		return own
	case others > 0:
		return others
	}
	return 1
}

// UnsentBytes is how many bytes of a program the depot will not have yet: as many as
// last time; else such a part of its memory as it was of another program's.
func UnsentBytes(rows []Transfer, like Transfer, memory int64) int64 {
	part := 1.0
	for i := len(rows) - 1; i >= 0; i-- { // the newest, which is the first, counts
		r := &rows[i]
		if r.What == like.What && r.Method == like.Method && r.Program != like.Program && r.Bytes > 0 {
			part = min(1, float64(r.Sent)/float64(r.Bytes))
		}
	}
	for i := range rows {
		if r := &rows[i]; r.What == like.What && r.Method == like.Method && r.Program == like.Program {
			return r.Sent
		}
	}
	return int64(part * float64(memory))
}
