package broker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/joblog"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/live/userfiles"
)

// writeOutputs puts what a job wrote into the files that its user named. It is
// repeated after a crash without harm.
func (b *Broker) writeOutputs(home UserFiles, j *job) error {
	if j.rec.Started == 0 || !j.rec.Named {
		return nil
	}
	out, err := outputName(&j.rec, j.spec, j.spec.Stdout), outputName(&j.rec, j.spec, j.spec.Stderr)
	switch {
	case j.spec.Merge || err == "":
		return b.writeOutput(home, j, out, 1)
	case out == err:
		return b.writeOutput(home, j, out, 1, 2)
	}
	return errors.Join(b.writeOutput(home, j, out, 1), b.writeOutput(home, j, err, 2))
}

// outputName is the file of a pattern; "" if there is none.
func outputName(rec *store.Job, spec *jobfile.Job, pattern string) string {
	if pattern == "" {
		return ""
	}
	w := jobfile.Writer{Job: int64(rec.ID), Array: int64(rec.Parent), Index: rec.Index, Again: int(rec.Epoch) - 1,
		Name: spec.Name, Host: rec.Cluster, User: rec.User, NoIndex: "4294967294"} // as Slurm has it
	if spec.Manager.Kind == jobfile.GridEngine {
		w.NoIndex = "undefined"
	}
	if len(rec.Hosts) > 0 {
		w.Host = rec.Hosts[0]
	}
	name := jobfile.OutputName(pattern, w)
	if !filepath.IsAbs(name) {
		name = filepath.Join(spec.Workdir, name)
	}
	return name
}

// writeOutput writes streams of a job to a file, one after the other.
func (b *Broker) writeOutput(home UserFiles, j *job, name string, streams ...int) error {
	if name == "" || name == os.DevNull {
		return nil
	}
	var readers []io.Reader
	for part := range j.rec.PartCount() { // one after the other
		for _, stream := range streams {
			readers = append(readers, &logReader{log: b.outputLog(j.rec.ID, part, stream)})
		}
	}
	if j.spec.Append {
		lock := b.appendLock(j.rec.Owner)
		lock.Lock()
		defer lock.Unlock()
	}
	return home.Write(b.ctx, &userfiles.Output{File: name, Temporary: fmt.Sprintf(".godwit-%d", j.rec.ID),
		Append: j.spec.Append},
		filepath.Join(b.logDir(j.rec.ID), fmt.Sprintf("appended.%d", streams[0])), io.MultiReader(readers...))
}

// appendLock is held while something is added to files of a user. Each has one of
// their own: a user may stop the process that writes as them, for as long as they like.
func (b *Broker) appendLock(owner uint32) *sync.Mutex {
	lock, _ := b.appendLocks.LoadOrStore(owner, new(sync.Mutex))
	return lock.(*sync.Mutex)
}

// logReader reads what is left of a log, from the oldest byte on.
type logReader struct {
	log    *joblog.Log
	offset int64
}

func (r *logReader) Read(p []byte) (int, error) {
	n, from, err := r.log.ReadAt(p, r.offset)
	r.offset = from + int64(n)
	return n, err
}
