package term

import (
	"os"
	"strings"

	"github.com/godwit-hpc/godwit/internal/report/progress"
)

// Colours of a terminal, and Plain, which ends them.
const (
	Green  = "\x1b[32m"
	Red    = "\x1b[31m"
	Yellow = "\x1b[33m"
	Plain  = "\x1b[0m"
)

// UsesColour says whether results are printed in colour: on a terminal, unless its
// user does not want any.
func (a *App) UsesColour() bool {
	_, plain := os.LookupEnv("NO_COLOR")
	return !plain && progress.IsTerminal(a.Stdout)
}

// stateColour is the colour of a state: what went wrong is red, what runs green.
func stateColour(word string) string {
	switch word {
	case "failed", "down", "no":
		return Red
	case "running", "up", "yes":
		return Green
	case "cancelled", "stopping", "stopped", "draining", "drained":
		return Yellow
	}
	return ""
}

// PaintStates colours the columns that say how something is.
func PaintStates(column, cell string) string {
	if column != "state" && column != "in time" {
		return cell
	}
	word, _, _ := strings.Cut(cell, ":")
	if c := stateColour(strings.TrimSpace(word)); c != "" {
		return c + cell + Plain
	}
	return cell
}

// InColour paints a state, alone or with what is said about it.
func (a *App) InColour(text string) string {
	if !a.UsesColour() {
		return text
	}
	return PaintStates("state", text)
}
