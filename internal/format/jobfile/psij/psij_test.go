package psij

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/jobfiletest"
)

// specsOnly reads nothing but job descriptions.
var specsOnly = jobfile.Importers{PSIJ: ReadSpec}

// badSpecs are job descriptions with one mistake each.
var badSpecs = []jobfiletest.Mistake{
	{`{"executable": }`, `job.yaml:1: expected a PSI/J job description in JSON (invalid character '}' looking for beginning of value)`},
	{`{"executable": null}`, `job.yaml: executable: missing, expected what to run`},
	{"{\"executable\": \"x\",\n\"argumants\": []}", `job.yaml:2: argumants: unknown field, did you mean arguments?`},
	{`{"executable": "x", "launcher": "jsrun"}`,
		`job.yaml:1: launcher "jsrun": expected one of single, multiple, mpirun, srun`},
	{`{"executable": "x", "resources": {"process_count": 5, "node_count": 2}}`,
		`job.yaml:1: resources.node_count: expected process_count = node_count × processes_per_node, and at most 1048576 cores in all`},
	{`{"executable": "x", "attributes": {"duration": "soon"}}`,
		`job.yaml:1: attributes.duration "soon": expected a time such as "1:30:00", "0:30", "90" (minutes), "2 h" or 600 (seconds, without quotes)`},
	{`{"executable": "x", "environment": {"A-B": "1"}}`,
		`job.yaml:1: environment "A-B": expected a variable's name of letters, digits and _`},
	{`{"executable": "x", "directory": "nowhere"}`, `job.yaml:1: directory "nowhere": no such directory`},
	{`{"executable": "x", "stdin_path": "nothing"}`, `job.yaml:1: stdin_path "nothing": no such file`},
}

func TestMistakesInJobDescriptionsAreToldWithTheirField(t *testing.T) {
	jobfiletest.CheckMistakes(t, specsOnly, "job.yaml", "%s", badSpecs)
}

// FuzzJobSpec reads anything as a job description of PSI/J.
func FuzzJobSpec(f *testing.F) {
	for _, c := range badSpecs {
		f.Add([]byte(c.Text))
	}
	files, err := filepath.Glob("../imports/testdata/import/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal("no descriptions", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		isSpec := bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) && bytes.Contains(data, []byte(`"executable"`))
		if len(data) > 1<<13 || !isSpec { // anything else is not read as one
			return
		}
		jobfiletest.CheckParsed(t, specsOnly, "spec.json", data)
	})
}
