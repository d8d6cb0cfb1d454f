package drivertest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// NotedPrograms are the suite's programs for drivers that run real processes. Each notes in
// a file that it began, and its processes. The world of such a driver embeds it.
type NotedPrograms struct {
	Broker *Broker
	Notes  string // the folder for the notes, which all hosts of the cluster see

	adjust func(*wire.Attempt) // adds what the driver under test wants to be told
	tb     testing.TB

	mu       sync.Mutex
	attempts []*wire.Attempt
}

// NewNotedPrograms are programs that write their notes into a folder.
func NewNotedPrograms(tb testing.TB, notes string, adjust func(*wire.Attempt)) *NotedPrograms {
	tb.Helper()
	return &NotedPrograms{Broker: NewBroker(tb), Notes: notes, adjust: adjust, tb: tb}
}

// AttemptFor is an attempt of one of the suite's programs.
func (p *NotedPrograms) AttemptFor(program Program) *wire.Attempt {
	const begin = `echo began >> "$NOTES"; echo $$ >> "$NOTES"; `
	// A manager may look for processes to end only once: what began after that look would be missed.
	const hide = `setsid env -u GODWIT_ATTEMPT sh -c 'sh -c "trap \"\" HUP TERM; echo hidden \$\$ >> \"\$NOTES\"; ` +
		`exec sleep 300" &' & until grep -qs hidden "$NOTES"; do sleep 0.01; done; `
	return p.AttemptFromLine(map[Program]string{
		Ends:  begin + "exit 7",
		Stays: begin + "exec sleep 300",
		Hides: hide + begin + "exec sleep 300",
	}[program])
}

// AttemptFromLine is an attempt that runs a line of the shell, which finds the name of its
// file for notes in $NOTES.
func (p *NotedPrograms) AttemptFromLine(line string) *wire.Attempt {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.attempts) + 1
	a := &wire.Attempt{Job: core.JobID(n), Epoch: 1, Procs: 1, Speed: 1,
		Mark: strings.ReplaceAll(fmt.Sprintf("%s.%d.%d", p.Broker.Socket, os.Getpid(), n), "/", ".")}
	a.Spec = jobfile.Job{Argv: []string{"/usr/bin/env", "NOTES=" + p.NotesFile(a), "sh", "-c", line}, Min: 1, Max: 1,
		Env: map[string]string{}, Checkpoint: jobfile.Checkpoint{Method: "restart"}}
	p.adjust(a)
	p.attempts = append(p.attempts, a)
	return a
}

// Attempts lists all attempts that were made.
func (p *NotedPrograms) Attempts() []*wire.Attempt {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.attempts)
}

// NotesFile is where the program of an attempt writes its notes. It is named by the number at
// the end of the mark, which two parts of one job do not share.
func (p *NotedPrograms) NotesFile(a *wire.Attempt) string {
	return filepath.Join(p.Notes, "notes."+a.Mark[strings.LastIndexByte(a.Mark, '.')+1:])
}

// ReadNotes are the words that an attempt's program noted.
func (p *NotedPrograms) ReadNotes(a *wire.Attempt) []string {
	data, err := os.ReadFile(p.NotesFile(a))
	if err != nil {
		return nil // it has not begun
	}
	return strings.Fields(string(data))
}

// StartCount is how often the program began.
func (p *NotedPrograms) StartCount(a *wire.Attempt) int {
	n := 0
	for _, word := range p.ReadNotes(a) {
		if word == "began" {
			n++
		}
	}
	return n
}

// LivingProcesses is how many processes of the program live.
func (p *NotedPrograms) LivingProcesses(a *wire.Attempt) int {
	n := 0
	for _, word := range p.ReadNotes(a) {
		if pid, err := strconv.Atoi(word); err == nil && livesWithNotes(pid, p.NotesFile(a)) {
			n++
		}
	}
	left, err := proctree.MarkedProcesses(a.Mark)
	if err != nil {
		p.tb.Error(err)
	}
	return max(n, len(left))
}

// CheckNoneLives fails the test if a process of any program lives.
func (p *NotedPrograms) CheckNoneLives() {
	p.tb.Helper()
	for _, a := range p.Attempts() {
		if n := p.LivingProcesses(a); n > 0 {
			p.tb.Errorf("%d processes of job %d live on", n, a.Job)
		}
	}
}

// HeardMessages is what the broker heard.
func (p *NotedPrograms) HeardMessages(a *wire.Attempt) []wire.Message {
	return p.Broker.HeardFrom(driver.AttemptID(a))
}

// SetDeaf makes the broker hear nothing, or hear again.
func (p *NotedPrograms) SetDeaf(deaf bool) { p.Broker.SetDeaf(deaf) }

// livesWithNotes says whether that number is still that of a program with this file for notes: a busy machine soon
// gives it to another.
func livesWithNotes(pid int, notes string) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil || strings.Contains(string(stat), ") Z ") {
		return false
	}
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && strings.Contains("\x00"+string(environ), "\x00NOTES="+notes+"\x00")
}
