package demo

import (
	_ "embed" // the programs
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
)

//go:embed pi.py
var piPython []byte

//go:embed pi.sh
var piShell []byte

// program is what the job runs: a script in a folder of its own.
type program struct {
	dir         string
	interpreter string // absolute path
	script      string
}

// progressPattern finds the program's progress in its output.
const progressPattern = `step (\d+)/(\d+)`

// installProgram writes the script below a folder: in Python, else for the shell.
func installProgram(parent string) (*program, error) {
	p := &program{dir: filepath.Join(parent, "work"), interpreter: "/bin/sh", script: "pi.sh"}
	text := piShell
	if python, err := exec.LookPath("python3"); err == nil {
		p.interpreter, p.script, text = python, "pi.py", piPython
	}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		return nil, err
	}
	return p, os.WriteFile(filepath.Join(p.dir, p.script), text, 0o700)
}

func (p *program) argv(steps int) []string {
	return []string{p.interpreter, p.script, strconv.Itoa(steps)}
}

// command is how a user would type it.
func (p *program) command(steps int) string {
	return fmt.Sprintf("%s %s %d", filepath.Base(p.interpreter), p.script, steps)
}

// stepCounter reads the program's output and knows how far it is.
type stepCounter struct {
	now clock.Clock

	mu    sync.Mutex
	line  []byte
	step  int
	first time.Time     // when the first step was seen
	until int           // the step that reached waits for
	seen  chan struct{} // closed then
}

func newStepCounter(now clock.Clock) *stepCounter {
	return &stepCounter{now: now, seen: make(chan struct{})}
}

// Write takes in a part of the output.
func (c *stepCounter) Write(data []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range data {
		if b != '\n' {
			c.line = append(c.line, b)
			continue
		}
		c.readLine(string(c.line))
		c.line = c.line[:0]
	}
	return len(data), nil
}

func (c *stepCounter) readLine(line string) {
	rest, ok := strings.CutPrefix(line, "step ")
	number, _, _ := strings.Cut(rest, "/")
	step, err := strconv.Atoi(number)
	if !ok || err != nil {
		return
	}
	if c.first.IsZero() {
		c.first = c.now()
	}
	c.step = step
	if c.until > 0 && step >= c.until {
		c.until = 0
		close(c.seen)
	}
}

// done is how many steps the program has done.
func (c *stepCounter) done() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.step
}

// began is when the first step was done; zero if none is.
func (c *stepCounter) began() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.first
}

// reached is closed when the program has done so many steps. It may be asked once.
func (c *stepCounter) reached(step int) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.step >= step {
		close(c.seen)
	} else {
		c.until = step
	}
	return c.seen
}
