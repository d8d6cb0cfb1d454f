package imports

import (
	"encoding/json"
	goflag "flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/callertest"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/jobfiletest"
)

var update = goflag.Bool("update", false, "write what scripts are read as")

// surroundings are the files that the scripts of the corpus name.
func surroundings(t testing.TB) string {
	return callertest.MakeFolder(t, "data.txt", "sub/data.txt", "pre.sh", "post.sh", "out/keep")
}

// told is a job as a golden file has it, and what was said about it.
func told(job *jobfile.Job, warnings []jobfile.Warning, dir string) string {
	text, err := json.MarshalIndent(job, "", "  ")
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, w := range warnings {
		fmt.Fprintln(&b, (&badinput.Error{File: filepath.Base(w.File), Line: w.Line, Field: w.Field,
			Problem: w.Text}).Error())
	}
	return strings.ReplaceAll(b.String()+string(text)+"\n", dir, "DIR")
}

func TestScriptsOfBatchSystemsAreReadAsTheyAreMeant(t *testing.T) {
	files, err := filepath.Glob("testdata/import/*")
	if err != nil || len(files) < 10 {
		t.Fatal("no corpus", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			dir := surroundings(t)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, filepath.Base(file))
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
			job, warnings, err := Read(path, jobfiletest.CallerOptions(dir))
			if err != nil {
				t.Fatal(err)
			}
			if err := job.CheckFields(); err != nil {
				t.Error(err)
			}
			got, golden := told(job, warnings, dir), filepath.Join("testdata/imported", filepath.Base(file)+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if diff := cmp.Diff(string(want), got); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}

func TestTheExamplesForBatchSystemsAreRead(t *testing.T) {
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	for name, said := range map[string]int{"array.sbatch": 0, "threads.sge": 1, "pi.json": 0} {
		job, warnings, err := Read(filepath.Join(root, "examples/jobs", name), jobfiletest.CallerOptions(root))
		if err != nil || len(warnings) != said || job.Stdout == "" {
			t.Errorf("%s: %+v, %v, %v", name, job, warnings, err)
		}
	}
}

// FuzzImport reads anything as a job, of whatever form.
func FuzzImport(f *testing.F) {
	files, err := filepath.Glob("testdata/import/*")
	if err != nil || len(files) < 10 {
		f.Fatal("no corpus", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<14 {
			return // beyond this a fuzzer finds nothing more
		}
		jobfiletest.CheckParsed(t, allImporters, "job.sh", data)
	})
}
