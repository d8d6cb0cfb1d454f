package wfformat

import (
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/recordings"
)

func TestEveryRecordedWorkflowIsRead(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(recordings.Path(t, "workflows"), "*", "*.json.gz"))
	if len(files) == 0 {
		t.Error("no recorded workflow is there")
	}
	for _, f := range files {
		w, err := Load(f)
		if err != nil {
			t.Error(err)
		} else if len(w.Tasks) == 0 {
			t.Errorf("%s has no tasks", f)
		}
	}
}

func TestAFileThatIsNotThereIsTold(t *testing.T) {
	_, err := Load("no/such.json")
	if err == nil || err.Error() != "cannot read no/such.json: no such file or directory" {
		t.Error(err)
	}
}
