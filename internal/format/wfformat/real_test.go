package wfformat

import (
	"os"
	"path/filepath"
	"testing"
)

// data is the folder of recorded workflows: GODWIT_DATA, or beside the module.
func data() string {
	dir := os.Getenv("GODWIT_DATA")
	if dir == "" {
		dir = "../../../../shared/data"
	}
	return filepath.Join(dir, "workflows")
}

func TestEveryRecordedWorkflowIsRead(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(data(), "*", "*.json.gz"))
	if len(files) == 0 {
		t.Log("no recorded workflows here: only the small ones of the other tests were read")
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
