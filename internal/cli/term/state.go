package term

import (
	"strings"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// stateWords are the states of jobs in the words of batch systems; what is not
// here is called as it is.
var stateWords = map[core.State]string{core.Submitted: "pending", core.Selected: "placed", core.Done: "completed"}

// StateText is a state of a job for people.
func StateText(s core.State) string {
	if word, ok := stateWords[s]; ok {
		return word
	}
	return strings.ToLower(s.String())
}
