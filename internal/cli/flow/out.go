package flow

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/report/outfile"
	"github.com/godwit-hpc/godwit/internal/sched/flow"
)

// planFiles are the files of a plan; nil are those that nobody wants.
type planFiles struct {
	schedule, gantt *outfile.File
	values          *outfile.File // that the chart shows: the schedule again; nil also if schedule is that file
}

func (p *planFiles) openFiles(f *flowFlags) (err error) {
	if f.scheduleOut != "" {
		if p.schedule, err = outfile.Create(f.scheduleOut); err != nil {
			return err
		}
	}
	if f.gantt == "" {
		return nil
	}
	if p.gantt, err = outfile.Create(f.gantt); err != nil {
		return err
	}
	if path := term.ValuesBeside(f.gantt); path != "" && filepath.Clean(path) != filepath.Clean(f.scheduleOut) {
		p.values, err = outfile.Create(path)
	}
	return err
}

// sayWritten tells of a chart that was drawn.
func (a *app) sayWritten(f *flowFlags) {
	if f.gantt != "" {
		a.SayChart(f.gantt)
	}
}

// discardFiles throws away what was not written to the end.
func (p *planFiles) discardFiles() {
	for _, f := range []*outfile.File{p.schedule, p.gantt, p.values} {
		if f != nil {
			f.Discard()
		}
	}
}

func (p *planFiles) writeFiles(d *flow.DAG, g *flow.Grid, s *flow.Schedule, r *flowReport) error {
	for _, file := range []*outfile.File{p.schedule, p.values} {
		if file == nil {
			continue
		}
		if err := commitFile(file, scheduleCSV(d, g, s)); err != nil {
			return err
		}
	}
	if p.gantt != nil {
		return commitFile(p.gantt, ganttSVG(d, g, s, r))
	}
	return nil
}

func commitFile(f *outfile.File, data []byte) error {
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Commit()
}

// scheduleCSV has one row a task, in the order of the workflow, with times to
// the last digit: a program that checks them must not stumble over ours.
func scheduleCSV(d *flow.DAG, g *flow.Grid, s *flow.Schedule) []byte {
	var b bytes.Buffer
	b.WriteString("task,host,core,start,end\n")
	for t, slot := range s.Slots {
		b.WriteString(csvField(d.Tasks[t].Name) + "," + csvField(g.Hosts[slot.Host].Name) + "," + strconv.Itoa(slot.Core))
		for _, x := range []float64{slot.Start, slot.End} {
			b.WriteString("," + strconv.FormatFloat(x, 'f', -1, 64))
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// csvField quotes a field that needs it.
func csvField(s string) string {
	if !strings.ContainsAny(s, ",\"\r\n") {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
