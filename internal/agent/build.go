package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/agent/buildcache"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/sched/checkpointing"
)

// buildOrReuse has the program built, or brings what was built before of the same sources
// for the same kind of host.
func (p *preparation) buildOrReuse(ctx context.Context, s *started) error {
	spec := p.attempt.Spec.Build
	if spec.Command == "" {
		return nil
	}
	dir := filepath.Join(p.folder.workDir(), spec.Dir)
	sources, err := buildcache.ReadSources(dir)
	if errors.Is(err, os.ErrNotExist) {
		return failedOutcome(126, fmt.Sprintf("build: the working directory has no folder %s", spec.Dir))
	}
	if err == nil {
		err = discardOutputs(dir, sources, spec.Outputs)
	}
	if err != nil {
		return lostOutcome("build: %v", err)
	}
	host, err := buildcache.ThisHost(ctx, spec.Needs)
	if missing := new(buildcache.MissingError); errors.As(err, &missing) {
		return failedOutcome(127, "build: "+missing.Error())
	}
	if err != nil {
		return context.Cause(ctx)
	}
	cache := buildcache.Cache{Dir: p.buildDir()}
	key := buildcache.ResultKey(sources, spec.Command, spec.Outputs, host)
	result, err := cache.TakeResult(ctx, key, func() { p.noteBuild("waits", "another job builds the same", key, host) })
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return lostOutcome("build: %v", err)
	}
	defer result.ReleaseLock()
	now := p.around.clock()
	if result.Ready {
		if err := result.PlaceFiles(dir, now); err != nil {
			return lostOutcome("build: %v", err)
		}
		p.noteBuild("not built again", "the same was built before", key, host)
		return nil
	}
	log, err := p.runBuild(ctx, s, dir, host)
	if err != nil {
		return err
	}
	files, err := builtFiles(dir, sources, spec)
	if err != nil {
		return err
	}
	why := fmt.Sprintf("in %s; kept for other jobs: %s", p.around.clock().Sub(now).Round(time.Millisecond),
		shortList(files))
	if err := result.KeepFiles(dir, files, log); err != nil {
		why = "for this job alone: " + err.Error() // it has what it needs
	}
	p.noteBuild("built", why, key, host)
	cache.RemoveOld(now)
	return nil
}

// buildDir is where results are kept: among what the user's programs keep, which
// on a cluster all its hosts see.
func (p *preparation) buildDir() string {
	if dir, err := os.UserCacheDir(); err == nil {
		return filepath.Join(dir, "godwit", "builds")
	}
	return filepath.Join(filepath.Dir(p.folder.dir), ".builds")
}

func (p *preparation) noteBuild(choice, why, key string, h buildcache.Host) {
	p.tell(func(l *life) {
		l.sendNote("build", choice, why, map[string]any{"key": key, "for": strings.TrimSpace(h.Arch + " " + h.March),
			"with": strings.Join(slices.Concat(h.Tools, h.Libraries), "; ")})
	})
}

// discardOutputs removes what an earlier build left, here or elsewhere: it is no source,
// and make would take it for the program of this host.
func discardOutputs(dir string, sources buildcache.Sources, outputs []string) error {
	for path := range sources { // order-free: each is removed
		if !slices.ContainsFunc(outputs, func(o string) bool { return matchesPattern(o, path) }) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, path)); err != nil {
			return err
		}
		delete(sources, path)
	}
	return nil
}

// runBuild runs the command to its end. What it writes goes to the job's log, and
// comes back.
func (p *preparation) runBuild(ctx context.Context, s *started, dir string, h buildcache.Host) ([]byte, error) {
	out, err := copyPipe(s.pipes.Writers[1])
	if err != nil {
		return nil, lostOutcome("build: %v", err)
	}
	program := *s.program
	program.Argv, program.Restart, program.Stdin = []string{"/bin/sh", "-c", p.attempt.Spec.Build.Command}, nil, ""
	program.Env = slices.Concat(program.Env, []string{"GODWIT_ARCH=" + h.Arch, "GODWIT_MARCH=" + h.March, "PWD=" + dir})
	program.Dir, program.Stdout, program.Stderr = dir, out.w, out.w
	r, err := p.runToEnd(ctx, &program, "build")
	log := out.finishCopy(ctx)
	switch {
	case err != nil:
		return nil, err
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	if r.Code != 0 {
		return nil, failedOutcome(r.Code, "build failed: "+endingText(r)+lastLines(log, 5))
	}
	return log, nil
}

// runToEnd runs something that comes before the program.
func (p *preparation) runToEnd(ctx context.Context, program *checkpoint.Program,
	what string) (checkpoint.Result, error) {
	method, err := p.around.methods(checkpointing.MethodRestart)
	if err != nil {
		return checkpoint.Result{}, lostOutcome("%s: %v", what, err)
	}
	run, err := method.StartProgram(ctx, program, "")
	if err != nil {
		return checkpoint.Result{}, lostOutcome("%s could not be started: %v", what, err)
	}
	select {
	case <-run.Done():
	case <-ctx.Done():
		run.KillProgram()
		<-run.Done()
		return checkpoint.Result{}, context.Cause(ctx)
	}
	r := run.Result()
	if r.Lost {
		return r, lostOutcome("%s was lost: %s", what, r.Why)
	}
	return r, nil
}

// builtFiles are the files to keep: those named, or whatever changed.
func builtFiles(dir string, before buildcache.Sources, spec jobfile.Build) ([]string, error) {
	after, err := buildcache.ReadSources(dir)
	if err != nil {
		return nil, lostOutcome("build: %v", err)
	}
	if len(spec.Outputs) == 0 {
		return before.ChangedFiles(after), nil
	}
	var files []string
	for _, want := range spec.Outputs {
		found := false
		for path := range after { // order-free: sorted below
			if matchesPattern(want, path) {
				files, found = append(files, path), true
			}
		}
		if !found {
			return nil, failedOutcome(126, fmt.Sprintf("build left no %s", want))
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// matchesPattern says whether a pattern names a file, or a folder that it is in.
func matchesPattern(pattern, path string) bool {
	for at := path; at != "."; at = filepath.Dir(at) {
		if ok, err := filepath.Match(pattern, at); ok && err == nil {
			return true
		}
	}
	return false
}

// lastLines are the end of what was written, for one line of text.
func lastLines(log []byte, n int) string {
	lines := bytes.Split(bytes.TrimSpace(log), []byte("\n"))
	lines = lines[max(0, len(lines)-n):]
	if text := strings.ToValidUTF8(string(bytes.Join(lines, []byte(" | "))), "?"); text != "" {
		return ": " + text
	}
	return ""
}

// copied is a pipe whose content goes to a file and is kept, up to a limit.
type copied struct {
	w, r *os.File
	kept bytes.Buffer
	over chan struct{}
}

const maxBuildLog = 1 << 20

func copyPipe(to io.Writer) (*copied, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c := &copied{w: w, r: r, over: make(chan struct{})}
	go c.copyTo(to)
	return c, nil
}

func (c *copied) copyTo(to io.Writer) {
	defer close(c.over)
	buf := make([]byte, 32<<10)
	for {
		n, err := c.r.Read(buf)
		if over := c.kept.Len() + n - maxBuildLog; over > 0 {
			c.kept.Next(min(over, c.kept.Len()))
		}
		c.kept.Write(buf[:n])
		if _, e := to.Write(buf[:n]); err != nil || e != nil {
			return
		}
	}
}

// finishCopy ends it and says what was written. Nobody writes any more: what ran has
// ended with all its processes. Who must go does not wait until there is room for
// the rest; the copying ends when the pipe that it writes to is closed.
func (c *copied) finishCopy(ctx context.Context) []byte {
	_ = c.w.Close() // the reader sees the end
	select {
	case <-c.over:
	case <-ctx.Done():
		_ = c.r.Close()
		return nil
	}
	_ = c.r.Close()
	return c.kept.Bytes()
}

// shortList names a few files, and says how many more there are.
func shortList(files []string) string {
	const few = 4
	if n := len(files) - few; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(files[:few], ", "), n)
	}
	return strings.Join(files, ", ")
}
