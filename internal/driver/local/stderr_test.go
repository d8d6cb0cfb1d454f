package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
)

func TestAnAgentsWordsBecomeAFileOnlyIfThereAreAny(t *testing.T) {
	dir := t.TempDir()
	silent, err := newWords(dir)
	if err != nil {
		t.Fatal(err)
	}
	silent.saveTo(dir)
	if attemptdir.HasFile(dir, attemptdir.LogFile) || lastWords(dir) != "" {
		t.Error("there is a file of no words")
	}
	for _, text := range []string{"first\n", strings.Repeat("x", 2*maxStderrKept) + "\nlast\n"} {
		loud, err := newWords(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := loud.WriteString(text); err != nil {
			t.Fatal(err)
		}
		loud.saveTo(dir)
	}
	data, err := os.ReadFile(filepath.Join(dir, attemptdir.LogFile))
	if err != nil || !strings.HasPrefix(string(data), "first\nxxx") || len(data) != len("first\n")+maxStderrKept ||
		lastWords(dir) != ": last" {
		t.Errorf("%d bytes, %v, %q", len(data), err, lastWords(dir))
	}
	agentStderr{}.saveTo(dir)
}
