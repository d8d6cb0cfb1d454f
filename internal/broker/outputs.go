package broker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/godwit-hpc/godwit/internal/jobfile"
	"github.com/godwit-hpc/godwit/internal/joblog"
	"github.com/godwit-hpc/godwit/internal/store"
)

// writeOutputs puts what a job wrote into the files that its user named. It is
// repeated after a crash without harm.
func (b *Broker) writeOutputs(j *job) error {
	if j.rec.Started == 0 || !j.rec.Named {
		return nil
	}
	out, err := outputName(&j.rec, j.spec, j.spec.Stdout), outputName(&j.rec, j.spec, j.spec.Stderr)
	switch {
	case j.spec.Merge || err == "":
		return b.writeOutput(j, out, 1)
	case out == err:
		return b.writeOutput(j, out, 1, 2)
	}
	return errors.Join(b.writeOutput(j, out, 1), b.writeOutput(j, err, 2))
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
func (b *Broker) writeOutput(j *job, name string, streams ...int) error {
	if name == "" || name == os.DevNull {
		return nil
	}
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no file", name)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	var readers []io.Reader
	for _, stream := range streams {
		readers = append(readers, &logReader{log: b.log(j.rec.ID, stream)})
	}
	if j.spec.Append {
		b.writing.Lock()
		defer b.writing.Unlock()
		return appendOnce(name, filepath.Join(b.logDir(j.rec.ID), fmt.Sprintf("appended.%d", streams[0])), io.MultiReader(readers...))
	}
	return replaceFile(name, fmt.Sprintf(".godwit-%d", j.rec.ID), io.MultiReader(readers...))
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

// replaceFile makes a file hold what there is to read: all of it, or what it held
// before.
func replaceFile(name, temporary string, from io.Reader) error {
	temporary = filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+temporary)
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temporary, name)
	}
	if err != nil {
		_ = os.Remove(temporary) // the first error tells more
	}
	return err
}

// appended is where in a file something was to be added.
type appended struct {
	File string `json:"file"`
	From int64  `json:"from"`
}

// appendOnce adds what there is to read to a file. Where it began is written down
// first, in the file marker, so that after a crash only what is missing is added.
func appendOnce(name, marker string, from io.Reader) (err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	begin := appended{name, info.Size()}
	text, err := os.ReadFile(marker)
	switch {
	case err == nil:
		var before appended
		if json.Unmarshal(text, &before) == nil && before.File == name {
			if from, err = missing(io.NewSectionReader(f, before.From, 1<<62), from); err != nil {
				return err
			}
		}
	case errors.Is(err, fs.ErrNotExist):
		if err := keepMarker(marker, begin); err != nil {
			return err
		}
	default:
		return err
	}
	_, err = io.Copy(f, from)
	return err
}

func keepMarker(marker string, begin appended) error {
	text, err := json.Marshal(begin)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(marker), 0o700); err != nil {
		return err
	}
	return replaceFile(marker, ".new", bytes.NewReader(text))
}

// missing is what of there is to be read after what is there already.
func missing(there, all io.Reader) (io.Reader, error) {
	a, b := make([]byte, 32<<10), make([]byte, 32<<10)
	for more := true; more; {
		n, err := fill(all, a)
		if err != nil {
			return nil, err
		}
		more = n == len(a)
		m, err := fill(there, b[:n])
		if err != nil {
			return nil, err
		}
		same := 0
		for same < min(n, m) && a[same] == b[same] {
			same++
		}
		if same < m { // somebody else added something; that it begins alike may be chance
			same = 1 + bytes.LastIndexByte(a[:same], '\n')
		}
		if same < n {
			return io.MultiReader(bytes.NewReader(a[same:n]), all), nil
		}
	}
	return bytes.NewReader(nil), nil // all of it is there
}

// fill reads until the buffer is full or there is no more.
func fill(from io.Reader, buf []byte) (int, error) {
	n, err := io.ReadFull(from, buf)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}
