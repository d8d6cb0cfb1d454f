package store

import (
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Reading is one value of a series of measurements. The first three name the
// series.
type Reading struct {
	What  string    `json:"what"`
	From  string    `json:"from"`
	To    string    `json:"to,omitempty"` // "": it is about one host
	At    core.Time `json:"at"`
	Value float64   `json:"value"`
}

// Thin says what of old readings is to go.
type Thin struct {
	Before core.Time     // of what is older, of each series only the first of each Step stays
	Step   time.Duration // above 0
	Drop   core.Time     // what is older goes
}

// Series says which readings to list. Where a text is empty, all match.
type Series struct {
	What, From, To string
	Since          core.Time
	Newest         int // so many of each series; 0: all
}
