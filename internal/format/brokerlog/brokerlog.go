// Package brokerlog is the exported log of a live broker as a file: its jobs, and what its
// engine was told and decided. The first line says what the file is, the last one that it is
// whole. It is the format alone: package rerun decides anew what stands in such a file, and
// package workload makes a trace of its jobs.
package brokerlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jsonlines"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// FormatName and Version are what the first line says.
const (
	FormatName = "godwit-broker-log"
	Version    = 1
)

// Header is the first line.
type Header struct {
	Format   string     `json:"format"`
	Version  int        `json:"version"`
	Release  string     `json:"release,omitempty"` // of the broker
	Exported time.Time  `json:"exported"`
	Since    *time.Time `json:"since,omitempty"` // jobs submitted before are not in it; nil: all are
	// User is whose jobs alone are in it, without decisions: these rest on the jobs of
	// others. "": everybody's.
	User     string             `json:"user,omitempty"`
	Clusters []core.ClusterSpec `json:"clusters"` // as they were when it was exported
}

// Line is any further line: one of its fields is set.
type Line struct {
	Job   *Job        `json:"job,omitempty"`
	Start *Start      `json:"start,omitempty"`
	Event *core.Event `json:"event,omitempty"` // of which it is not known what it came of
	Began *Began      `json:"began,omitempty"`
	Left  *Left       `json:"left,omitempty"`
	Step  *Step       `json:"step,omitempty"`
	End   *End        `json:"end,omitempty"`
}

// Job is what became of a job. Times are nanoseconds since 1970, 0 if it has not come so far.
type Job struct {
	ID       core.JobID    `json:"id"`
	User     string        `json:"user,omitempty"`
	Name     string        `json:"name,omitempty"`
	Program  string        `json:"program,omitempty"`
	State    core.State    `json:"state"`
	Submit   core.Time     `json:"submit"`
	Start    core.Time     `json:"start,omitempty"`
	End      core.Time     `json:"end,omitempty"`
	Procs    int           `json:"procs"`              // that it asked for at least
	Run      time.Duration `json:"run,omitempty"`      // that its program ran, in all attempts
	CPU      time.Duration `json:"cpu,omitempty"`      // that it used
	Limit    time.Duration `json:"limit,omitempty"`    // that its user asked for
	Estimate time.Duration `json:"estimate,omitempty"` // CPU time that its user expected
	Deadline core.Time     `json:"deadline,omitempty"`
	Cluster  string        `json:"cluster,omitempty"`
	ExitCode int           `json:"exit_code,omitempty"`
}

// Start is the state before the first event of the file.
type Start struct {
	After    uint64           `json:"after"`              // number of the last event in it
	Place    core.PlacePolicy `json:"place"`              // of jobs that name none
	Snapshot []byte           `json:"snapshot,omitempty"` // none: there was no cluster and no job
}

// Began says that a broker began: a new engine with these settings, on what the events before
// gave.
type Began struct {
	Engine json.RawMessage `json:"engine"`
}

// Left is what the engine, with these settings, had still to look at after an event: a replay
// may begin with it.
type Left struct {
	After     uint64          `json:"after"`
	Engine    json.RawMessage `json:"engine"`
	Unsettled json.RawMessage `json:"unsettled"`
}

// Step is one step of the engine: what it was told, and what it decided.
type Step struct {
	At       core.Time      `json:"at"`
	In       core.Input     `json:"in"`
	Events   []core.Event   `json:"events,omitempty"`
	Commands []core.Command `json:"commands,omitempty"`
}

// End is the last line: without it the file is not whole.
type End struct {
	Jobs  int64 `json:"jobs"`
	Steps int64 `json:"steps"`
}

// Writer writes a file, whatever it is written to.
type Writer struct {
	put   func(line any) error
	total End
}

// NewWriter begins a file; put writes a line.
func NewWriter(put func(line any) error, h Header) (*Writer, error) {
	h.Format, h.Version = FormatName, Version
	return &Writer{put: put}, put(&h)
}

// WriteLine adds a line.
func (w *Writer) WriteLine(l *Line) error {
	switch {
	case l.Job != nil:
		w.total.Jobs++
	case l.Step != nil:
		w.total.Steps++
	}
	return w.put(l)
}

// Close says that the file is whole.
func (w *Writer) Close() error { return w.put(&Line{End: &w.total}) }

// Reader reads a file.
type Reader struct {
	lines  *jsonlines.Reader
	header Header
	total  End
}

// NewReader reads the first line; name is the file as the user knows it. What is wrong with it
// is a *badinput.Error.
func NewReader(r io.Reader, name string) (*Reader, error) {
	lines, err := jsonlines.Open(r, name)
	if err != nil {
		return nil, err
	}
	in := &Reader{lines: lines}
	switch err := lines.DecodeNext(&in.header); {
	case errors.Is(err, io.EOF):
		return nil, lines.BadLine("", "the first line of an exported log; the file is empty", nil)
	case err != nil:
		return nil, err
	case in.header.Format != FormatName:
		return nil, lines.BadLine("", "the first line of an exported log, which says that this is a "+FormatName, nil)
	case in.header.Version != Version:
		return nil, lines.BadLine("", fmt.Sprintf("version %d of the format, which this program reads; it is %d", Version,
			in.header.Version), nil)
	}
	return in, in.checkClusters()
}

// maxProcs is more than all clusters have: a damaged number must not fill the memory.
const maxProcs = 10_000_000

func (r *Reader) checkClusters() error {
	left := maxProcs
	for i := range r.header.Clusters {
		c := &r.header.Clusters[i]
		if !c.IsValid() || c.TotalProcs() > left || len(c.Hosts) > left {
			return r.BadLine("clusters of a size that can be", fmt.Errorf("cluster %q", c.Name))
		}
		left -= max(c.TotalProcs(), len(c.Hosts))
	}
	return nil
}

// Header is the first line.
func (r *Reader) Header() *Header { return &r.header }

// BadLine is an error about the line that was read last.
func (r *Reader) BadLine(want string, err error) error { return r.lines.BadLine("", want, err) }

// LineCount is how many lines have been read.
func (r *Reader) LineCount() int { return r.lines.LineCount() }

// NextLine is the next line; io.EOF after the last one, if the file is whole.
func (r *Reader) NextLine() (*Line, error) {
	var l Line
	switch err := r.lines.DecodeNext(&l); {
	case errors.Is(err, io.EOF):
		return nil, r.BadLine("a log that ends with its last line; this one breaks off", nil)
	case err != nil:
		return nil, err
	}
	if err := l.checkLine(); err != nil {
		return nil, r.BadLine("a line of an exported log", err)
	}
	switch {
	case l.Job != nil:
		r.total.Jobs++
	case l.Step != nil:
		r.total.Steps++
	case l.End != nil:
		return nil, r.finish(l.End)
	}
	return &l, nil
}

func (r *Reader) finish(end *End) error {
	if *end != r.total {
		return r.BadLine(fmt.Sprintf("the end of %d jobs and %d steps; the log has %d and %d", end.Jobs, end.Steps,
			r.total.Jobs, r.total.Steps), nil)
	}
	if err := r.lines.DecodeNext(&Line{}); !errors.Is(err, io.EOF) {
		if err == nil {
			err = r.BadLine("nothing after the last line", nil)
		}
		return err
	}
	return io.EOF
}

func (l *Line) checkLine() error {
	n := 0
	for _, is := range []bool{l.Job != nil, l.Start != nil, l.Event != nil, l.Began != nil, l.Left != nil, l.Step != nil,
		l.End != nil} {
		if is {
			n++
		}
	}
	switch j := l.Job; {
	case n != 1:
		return fmt.Errorf("it tells %d things", n)
	case j == nil:
	case j.ID <= 0 || j.Submit < 0 || j.Start < 0 || j.End < 0 || j.Procs < 0 || j.Procs > maxProcs || j.Run < 0 ||
		j.CPU < 0 || j.Limit < 0 || j.Estimate < 0:
		return fmt.Errorf("job %d has a number that cannot be", j.ID)
	}
	return nil
}

// IsFile reports whether a file begins as an exported log does.
func IsFile(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // only read from
	lines, err := jsonlines.Open(f, path)
	if err != nil {
		return false
	}
	var first map[string]json.RawMessage
	if lines.DecodeNext(&first) != nil {
		return false
	}
	return string(first["format"]) == `"`+FormatName+`"`
}

// ReadJobs lists the jobs of a file, and its first line.
func ReadJobs(path string) (*Header, []Job, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, badinput.UnreadableFile(path, err)
	}
	defer func() { _ = f.Close() }() // only read from
	r, err := NewReader(f, path)
	if err != nil {
		return nil, nil, err
	}
	var jobs []Job
	for {
		l, err := r.NextLine()
		switch {
		case errors.Is(err, io.EOF):
			return r.Header(), jobs, nil
		case err != nil:
			return nil, nil, err
		case l.Job != nil:
			jobs = append(jobs, *l.Job)
		}
	}
}
