package slurm

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/godwit-hpc/godwit/internal/driver"
)

// What the commands say when it is no use to ask again: the request itself is
// wrong, or against the rules of the cluster.
var refusals = []string{
	"invalid", "not available", "exceed", "violates", "not permitted", "denied", "unrecognized option", "unknown option",
	"more processors requested", "node count specification", "requires", "unable to allocate resources", "not supported",
	"is not valid", "cannot be satisfied", "expired", "job script", "must be specified", "too many", "memory required",
	"requested partition configuration", "not allowed", "disallowed",
	"requested time limit", "no partition", "required option", "illegal",
}

// What they say when the controller was certainly not reached, or has certainly
// not taken anything.
var absences = []string{
	"unable to contact slurm controller", "connection refused", "in standby mode", "controller not responding",
	"resource temporarily unavailable", "temporarily unable to accept job", "host is down", "no route to host",
	"unable to establish", "could not establish a configuration source", "address resolution", "unable to resolve",
	"authentication", "authenticate", "munge", "credential",
	"configuration file",
	"maxsubmitjob", // later there may be room
}

// What they say when something went wrong on the way: nobody knows what was done.
var mishaps = []string{
	"timed out", "unexpected message", "zero bytes", "transport endpoint", "header lengths", "connection reset",
	"broken pipe",
	"communication", "terminated",
}

// classifyError makes an error of what a command said.
func classifyError(a answer, err error) error {
	if errors.Is(err, driver.ErrAway) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	said := errorText(a.said)
	if said == "" {
		return err
	}
	lower := strings.ToLower(a.said)
	has := func(list []string) bool {
		for _, words := range list {
			if strings.Contains(lower, words) {
				return true
			}
		}
		return false
	}
	switch {
	case has(mishaps): // whatever was said after that: it may be of another try
		return errors.New(said)
	case has(absences):
		return fmt.Errorf("%w: %s", driver.ErrAway, said)
	case has(refusals):
		return fmt.Errorf("%w: %s", driver.ErrRefused, said)
	}
	return errors.New(said)
}

// errorText is what a command said, without the names before it, in one line.
func errorText(said string) string {
	var lines []string
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		for {
			head, rest, ok := strings.Cut(line, ": ")
			if !ok || !isHead(head) {
				break
			}
			line = rest
		}
		if line != "" && (len(lines) == 0 || lines[len(lines)-1] != line) {
			lines = append(lines, line)
		}
	}
	return shortLine(strings.Join(lines, "; "))
}

// isHead says that these are words before a complaint that tell a user nothing.
func isHead(s string) bool {
	switch s {
	case "sbatch", "squeue", "scancel", "scontrol", "sinfo", "sacct", "error", "fatal", "Batch job submission failed",
		"allocation failure":
		return true
	}
	return false
}

// shortLine makes one line of a text, of a length that people read.
func shortLine(s string) string {
	const most = 400
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		s = s[:most] + " …"
	}
	return strings.ToValidUTF8(s, "")
}
