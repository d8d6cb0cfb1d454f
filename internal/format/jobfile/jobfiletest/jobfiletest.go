// Package jobfiletest is for tests of importers: it has them read scripts and descriptions,
// and says whether mistakes are told as they should be.
package jobfiletest

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/callertest"
)

// CallerOptions are those of somebody in a folder who gives some flags, each NAME=VALUE.
func CallerOptions(dir string, set ...string) jobfile.Options {
	o := jobfile.Options{Now: callertest.SubmitTime, Dir: dir, Environ: callertest.CallerEnviron()}
	for _, s := range set {
		name, value, _ := strings.Cut(s, "=")
		o.Set = append(o.Set, jobfile.Setting{Name: name, Value: value})
	}
	return o
}

// Mistake is a file with one mistake, and what is said of it.
type Mistake = struct{ Text, Want string }

// CheckMistakes checks that each mistake is told as bad input. form is what a file of this name holds, with
// %s for the text.
func CheckMistakes(t *testing.T, importers jobfile.Importers, name, form string, mistakes []Mistake) {
	t.Helper()
	for _, c := range mistakes {
		dir := callertest.MakeFolder(t, name+"="+fmt.Sprintf(form, c.Text))
		_, _, err := jobfile.Read(filepath.Join(dir, name), CallerOptions(dir), importers)
		if !badinput.Is(err) || strings.TrimPrefix(err.Error(), dir+"/") != c.Want {
			t.Errorf("%q:\ngot  %v\nwant %s", c.Text, err, c.Want)
		}
	}
}

// CheckParsed reads what a fuzzer made up: mistakes and warnings are one line each, and what is
// accepted is sound and can be stored. It returns nil if there is a mistake.
func CheckParsed(t *testing.T, importers jobfile.Importers, name string, data []byte) *jobfile.Job {
	t.Helper()
	const dir = "/nowhere"
	d, err := jobfile.Parse(name, data, CallerOptions(dir), importers)
	for _, w := range d.Warnings {
		if strings.ContainsAny(w.Field+w.Text, "\n\r\x1b") {
			t.Fatalf("not one line: %+v", w)
		}
	}
	if err != nil {
		if !badinput.Is(err) || strings.ContainsAny(err.Error(), "\n\r\x1b") {
			t.Fatalf("not one line of bad input: %q", err)
		}
		return nil
	}
	job := &d.Job
	if !filepath.IsAbs(job.Workdir) { // as when files are looked at
		job.Workdir = filepath.Join(dir, job.Workdir)
	}
	if err := job.CheckFields(); err != nil {
		t.Fatalf("accepted: %+v %v", job, err)
	}
	if _, err := json.Marshal(job); err != nil {
		t.Fatal(err)
	}
	jobfile.OutputName(job.Stdout, jobfile.Writer{Job: 1})
	return job
}
