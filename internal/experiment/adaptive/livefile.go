package adaptive

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/experiment/measured"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// liveFile keeps live runs as they come: a line of JSON with the plan and the
// machine, then one for each run.
type liveFile struct {
	mu sync.Mutex
	f  *os.File
}

type liveHead struct {
	Plan    LivePlan
	Machine measured.Machine
}

// openLive begins the file of a plan, or goes on with it; had are the runs in it.
func openLive(l *LivePlan) (file *liveFile, had map[int]bool, err error) {
	had = map[int]bool{}
	if l.Continue {
		old, err := ReadLive(l.File)
		if err != nil {
			return nil, nil, err
		}
		if !l.isCompatible(&old.Plan) {
			return nil, nil, &badinput.Error{Field: "--continue", Value: l.File,
				Want: "runs of the same programs, length, interval and loads as are to be made now"}
		}
		for i := range old.Runs {
			had[old.Runs[i].N] = true
		}
		// Without a line that was only begun.
		return rewriteLive(l.File, old, had)
	}
	return rewriteLive(l.File, &LiveResults{Plan: *l, Machine: measured.ThisMachine(clock.RealClock())}, had)
}

// rewriteLive writes what there is and leaves the file open for more.
func rewriteLive(path string, r *LiveResults, had map[int]bool) (*liveFile, map[int]bool, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, nil, err
	}
	whole := path + ".new"
	f, err := os.Create(whole)
	if err != nil {
		return nil, nil, err
	}
	file := &liveFile{f: f}
	err = file.writeLine(liveHead{r.Plan, r.Machine})
	for i := range r.Runs {
		err = errors.Join(err, file.addRun(&r.Runs[i]))
	}
	if err == nil {
		err = os.Rename(whole, path)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close(), os.Remove(whole))
	}
	return file, had, nil
}

func (l *liveFile) addRun(r *LiveRun) error { return l.writeLine(r) }

func (l *liveFile) writeLine(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.f.Write(append(line, '\n'))
	return err
}

func (l *liveFile) Close() error { return l.f.Close() }

// isCompatible says whether runs of both plans may stand together.
func (l *LivePlan) isCompatible(o *LivePlan) bool {
	return l.Length == o.Length && l.Sample == o.Sample && l.Choosing == o.Choosing && l.AtOnce == o.AtOnce &&
		slices.Equal(l.Programs, o.Programs)
}

// ReadLive reads live runs. A last line that was only begun is left out: whoever
// wrote it was killed.
func ReadLive(path string) (*LiveResults, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &badinput.Error{Field: "--live", Value: path, Want: "a file with live runs", Err: err}
	}
	defer func() { _ = f.Close() }()
	r, err := parseLive(f)
	if err != nil {
		return nil, &badinput.Error{Field: "--live", Value: path, Want: "a file with live runs", Err: err}
	}
	return r, nil
}

func parseLive(from io.Reader) (*LiveResults, error) {
	var r *LiveResults
	lines := bufio.NewReader(from)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF) && r != nil:
			return r, nil
		case errors.Is(err, io.EOF):
			return nil, errors.New("it is empty")
		case err != nil:
			return nil, err
		}
		if r == nil {
			var head liveHead
			if err := json.Unmarshal(line, &head); err != nil || head.Plan.Runs == 0 {
				return nil, fmt.Errorf("line %d is not what was planned: %w", n, cmp.Or(err, errNoField))
			}
			r = &LiveResults{Plan: head.Plan, Machine: head.Machine}
			continue
		}
		var run LiveRun
		if err := json.Unmarshal(line, &run); err != nil || !(run.Took > 0) || run.N < 0 {
			return nil, fmt.Errorf("line %d is no run: %w", n, cmp.Or(err, errNoField))
		}
		r.Runs = append(r.Runs, run)
	}
}

var errNoField = errors.New("a field is missing or impossible")
