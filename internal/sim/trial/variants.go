package trial

import "github.com/godwit-hpc/godwit/internal/sched/resched"

// Variants are the runs of a scenario with a sweep, one for each value; without one the run itself.
func (t *Setup) Variants() []*Setup {
	if t.Scenario == nil || t.Scenario.Sweep == nil {
		return []*Setup{t}
	}
	var list []*Setup
	for _, value := range t.Scenario.Sweep.Values {
		one := *t
		one.Scenario, one.SweepOver, one.SweepValue = t.Scenario.Variant(value), t.Scenario.Sweep.Over, value
		list = append(list, &one)
	}
	return list
}

// ReschedMode is the mode of the rescheduler, empty where no job has a contract.
func (t *Setup) ReschedMode() string {
	if t.Scenario == nil || t.Scenario.Workload == nil {
		return ""
	}
	for i := range t.Scenario.Workload.Programs {
		if t.Scenario.Workload.Programs[i].Contract != nil {
			if t.Policy.Gain.Mode == "" {
				return resched.ModeDefault
			}
			return t.Policy.Gain.Mode
		}
	}
	return ""
}

// AreOpposite reports whether a run in one mode decided as the gain says, and one in the other the other way.
func AreOpposite(mode, other string) bool {
	return mode == resched.ModeDefault && other == resched.ModeOpposite
}

// rightMargin is by how much the decisions may be slower than the opposite ones and still be right.
const rightMargin = 1.05

// IsRight reports whether a run was not slower than one with the opposite decisions by more than 5 % (spec 30).
func IsRight(seconds, opposite float64) bool { return seconds <= rightMargin*opposite }
