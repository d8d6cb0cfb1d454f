package core

import "fmt"

// Dependency is what must have happened to another job, or to all jobs of an array,
// before a job may be placed.
type Dependency struct {
	Job   JobID     `json:"job"`             // the other job, or the first one of the array
	Array bool      `json:"array,omitempty"` // all jobs of the array are meant
	When  Condition `json:"when"`
	// Target is how the other was doing when the job was submitted. What happens to
	// it from then on the engine is told.
	Target Target `json:"target"`
}

// Condition says what must have happened.
type Condition uint8

// The conditions have the names that Slurm gives them.
const (
	AfterOK    Condition = iota // it has ended, and its program went well
	AfterAny                    // it has ended, however
	AfterNotOK                  // it has ended, and not well
	AfterStart                  // it has started, or ended
)

var conditionNames = [...]string{AfterOK: "afterok", AfterAny: "afterany", AfterNotOK: "afternotok",
	AfterStart: "after"}

func (c Condition) String() string { return nameOf(conditionNames[:], int(c)) }

// Target is what others depend on: a job, or all jobs of an array, counted.
// 0 ≤ NotStarted ≤ Unfinished.
type Target struct {
	Unfinished int   `json:"unfinished,omitempty"`  // jobs that have not ended, or whose results are not returned yet
	NotStarted int   `json:"not_started,omitempty"` // of these, jobs that have never run
	Failed     int   `json:"failed,omitempty"`      // jobs that have ended otherwise than done
	FailedJob  JobID `json:"failed_job,omitempty"`  // the last of these
}

// JudgeCondition says whether a condition is met, or can never be.
func (t *Target) JudgeCondition(when Condition) (met, never bool) {
	switch when {
	case AfterStart:
		return t.NotStarted == 0, false
	case AfterAny:
		return t.Unfinished == 0, false
	case AfterNotOK:
		return t.Unfinished == 0 && t.Failed > 0, t.Unfinished == 0 && t.Failed == 0
	}
	return t.Unfinished == 0 && t.Failed == 0, t.Failed > 0
}

// CountReturned counts a job that has ended and whose results are where they belong.
func (t *Target) CountReturned(job JobID, outcome State, neverStarted bool) {
	t.Unfinished = max(0, t.Unfinished-1)
	if neverStarted {
		t.NotStarted--
	}
	t.NotStarted = max(0, min(t.NotStarted, t.Unfinished))
	if outcome != Done {
		t.Failed, t.FailedJob = t.Failed+1, job
	}
}

// checkDependency reports what makes a dependency impossible. Jobs depend on earlier ones
// alone, so that none can wait for itself.
func (d *Dependency) checkDependency(of JobID) error {
	t := &d.Target
	if d.Job <= 0 || d.Job >= of || d.When > AfterStart {
		return fmt.Errorf("cannot depend (%s) on job %d", d.When, d.Job)
	}
	if t.NotStarted < 0 || t.Unfinished < t.NotStarted || t.Failed < 0 || !d.Array && t.Unfinished+t.Failed > 1 {
		return fmt.Errorf("depends on job %d, of which %d are unfinished, %d not started, %d failed", d.Job, t.Unfinished,
			t.NotStarted, t.Failed)
	}
	return nil
}
