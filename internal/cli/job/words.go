package job

import (
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// allStates are the words for the states that there are.
func allStates() []string {
	var list []string
	for s := core.Submitted; s.String() != "unknown" && len(list) < 64; s++ {
		if word := term.StateText(s); !slices.Contains(list, word) {
			list = append(list, word)
		}
	}
	return append(list, heldWord, suspendedWord)
}

// isState says whether a word is that of a state, as tables or as JSON have it.
func isState(word string) bool {
	word = strings.ToLower(word)
	if word == heldWord || word == suspendedWord {
		return true
	}
	for s := core.Submitted; s.String() != "unknown"; s++ {
		if word == term.StateText(s) || word == strings.ToLower(s.String()) {
			return true
		}
	}
	return false
}

// inState says whether a job is in one of the states that the words name; pending
// is every job that has not started.
func inState(j *api.Job, words []string) bool {
	for _, w := range words {
		w = strings.ToLower(w)
		if w == stateWord(j) || w == term.StateText(j.State) || w == strings.ToLower(j.State.String()) ||
			w == "pending" && isPending(j.State) {
			return true
		}
	}
	return false
}

// What a job is besides its state.
const heldWord, suspendedWord = "held", "suspended"

// stateWord is the state of a job for people: held and suspended stand for what it is otherwise.
func stateWord(j *api.Job) string {
	switch {
	case j.Held && isPending(j.State):
		return heldWord
	case j.Suspended != nil && j.State == core.Running:
		return suspendedWord
	}
	return term.StateText(j.State)
}

// isPending says whether a job has not started yet, wherever it waits.
func isPending(s core.State) bool {
	return s.IsWaiting() || s == core.Selected || s == core.Contracted || s == core.Staging || s == core.Queued
}

// checkStates refuses words that name no state.
func checkStates(words []string) error {
	for _, w := range words {
		if !isState(w) {
			return &badinput.Error{Field: "--state", Value: w, Problem: badinput.UnknownName("state", w, allStates())}
		}
	}
	return nil
}

// quoteCommand is a command as one would type it in a shell, in one line.
func quoteCommand(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quoteWord(w)
	}
	return strings.Join(quoted, " ")
}

func quoteWord(w string) string {
	const special = " \t\n\"'`$&|;<>()*?[]{}~#!\\"
	switch {
	case w == "":
		return "''"
	case !strings.ContainsAny(w, special):
		return w
	case strings.ContainsAny(w, "\n\t"):
		return "$'" + strings.NewReplacer("\\", "\\\\", "'", "\\'", "\n", "\\n", "\t", "\\t").Replace(w) + "'"
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
