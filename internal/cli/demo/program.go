package demo

import (
	_ "embed" // the program
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
)

//go:embed pi.sh
var piScript []byte

// The program is a shell script: there is a shell everywhere, and it is in the sandbox
// in a quarter of the time that Python takes, which counts on a busy machine.
const (
	shell      = "/bin/sh"
	scriptName = "pi.sh"
)

// progressPattern finds the program's progress in its output.
const progressPattern = `step (\d+)/(\d+)`

// installProgram writes the script into a folder of its own.
func installProgram(parent string) (string, error) {
	dir := filepath.Join(parent, "work")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, scriptName), piScript, 0o700)
}

// commandLine is how a user would type it.
func commandLine(steps int) string { return fmt.Sprintf("sh %s %d", scriptName, steps) }

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

// stepsDone is how many steps the program has done.
func (c *stepCounter) stepsDone() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.step
}

// firstStepAt is when the first step was done; zero if none is.
func (c *stepCounter) firstStepAt() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.first
}

// reachedStep is closed when the program has done so many steps. It may be asked once.
func (c *stepCounter) reachedStep(step int) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.step >= step {
		close(c.seen)
	} else {
		c.until = step
	}
	return c.seen
}
