package jobfile

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAJobFileThatNeedsAFolderHasItsOwn(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	for text, folder := range map[string]bool{
		"run: date > out.txt\noutputs: [out.txt]\n":    true,
		"run: ./prog.sh\n":                             true,
		"run: cd sub && ../prog <./in\n":               true,
		"argv: [./prog, x]\n":                          true,
		"setup: ./configure\nrun: make\n":              true,
		"run: python3 -c 'print(1)'\n":                 false,
		"run: echo a/./b /x/../y 1./2\n":               false,
		"argv: [prog, ./x]\n":                          false,
		"run: x\noutputs: [{from: a, to: 'c:/d/'}]\n":  false,
		"run: ./prog.sh\nworkdir: " + elsewhere + "\n": false,
	} {
		file := filepath.Join(dir, "j.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		job, _, err := readFile(file, Options{Dir: elsewhere, Now: time.Now()})
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if (job.Workdir == dir) != folder {
			t.Errorf("%q: workdir is %q", text, job.Workdir)
		}
	}
}
