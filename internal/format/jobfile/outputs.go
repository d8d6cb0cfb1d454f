package jobfile

import (
	"fmt"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// FarOutput is a result that is left at a cluster, and not brought back.
type FarOutput struct {
	From string `json:"from"` // within the work folder, with * and ? for several
	To   string `json:"to"`   // cluster:path; a folder if it ends in a slash
}

// SiteAndPath is the cluster and the path there.
func (f *FarOutput) SiteAndPath() (site, path string) {
	site, path, _ = strings.Cut(f.To, ":")
	return site, path
}

// checkOutput says what is wrong with where a result is to be left.
func (f *FarOutput) checkOutput() error {
	site, at := f.SiteAndPath()
	switch {
	case !atSite().MatchString(f.To) || at == "" || strings.HasPrefix(at, "//") || strings.ContainsRune(at, 0):
		return fmt.Errorf("where to leave it: cluster:path, such as leeds:/data/runs/")
	case site == InDepot:
		return fmt.Errorf("the name of a cluster; what no cluster is named for is brought back")
	case strings.ContainsAny(f.From, "*?[") && !strings.HasSuffix(at, "/"):
		return fmt.Errorf("a folder, which ends in a slash: %s may be several files", f.From)
	}
	return nil
}

// readOutputs reads files within the work folder, by name, or as {from, to} if
// they are to be left at a cluster.
func (d *Draft) readOutputs(v yamlfile.Value) {
	if v.Kind() == yamlfile.Scalar {
		d.Outputs = []string{ReadScalar(v, parseInside)}
		return
	}
	for item := range v.EachItem("files within the working directory") {
		if item.Kind() != yamlfile.Mapping {
			d.Outputs = append(d.Outputs, ReadScalar(item, parseInside))
			continue
		}
		var f FarOutput
		var to yamlfile.Value
		found := item.ReadMapping(
			yamlfile.ReadField("from", func(v yamlfile.Value) { f.From = ReadScalar(v, parseInside) }),
			yamlfile.ReadField("to", func(v yamlfile.Value) { f.To, to = v.Text("cluster:path"), v }),
		)
		found.RequireField("from", "which files, such as out/*.h5")
		found.RequireField("to", "where to leave them: cluster:path")
		if err := f.checkOutput(); err != nil && f.From != "" && f.To != "" && !to.HasFailed() {
			to.ReportWrong(err.Error())
		}
		d.Leave = append(d.Leave, f)
	}
}

// checkLeave is for jobs that come from elsewhere.
func (j *Job) checkLeave() (FarOutput, error) {
	for _, f := range j.Leave {
		if err := f.checkOutput(); err != nil {
			return f, err
		}
		if _, err := parseInside(f.From); err != nil {
			return f, err
		}
	}
	return FarOutput{}, nil
}
