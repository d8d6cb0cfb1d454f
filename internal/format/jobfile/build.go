package jobfile

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
	"github.com/godwit-hpc/godwit/internal/sched/perfmodel"
)

// Build is how a program is made of its sources, once for each kind of host where
// the job runs.
type Build struct {
	Command string   `json:"command"`           // shell line
	Dir     string   `json:"dir,omitempty"`     // of the sources, within Workdir; "": all of it
	Outputs []string `json:"outputs,omitempty"` // what to keep of what it makes, within Dir; none named: whatever changed
	Needs   []string `json:"needs,omitempty"`   // libraries, as pkg-config or the linker calls them
}

// readBuild reads a section, or a command alone.
func (d *Draft) readBuild(v yamlfile.Value) {
	if v.Kind() == yamlfile.Scalar {
		d.Build.Command = ReadScalar(v, ParseText)
		return
	}
	d.readMapping(v, "build.", d.buildFields())
	if d.Build.Command == "" && !v.HasFailed() {
		v.ReportError("", "command is missing: a shell line such as make")
	}
}

func (d *Draft) buildFields() []field {
	b := &d.Build
	return []field{
		scalarField("command", &b.Command, ParseText),
		scalarField("dir", &b.Dir, parseFolder),
		listField("outputs", "files within the folder of the build", &b.Outputs, parseInside),
		listField("needs", "libraries, such as fftw3", &b.Needs, parseLibrary),
	}
}

// parseFolder reads a folder within the work folder.
func parseFolder(s string) (string, error) {
	clean, err := parseInside(s)
	if err != nil || strings.ContainsAny(s, "*?[") {
		return "", errors.New("a folder within the working directory, such as src")
	}
	return clean, nil
}

func parseLibrary(s string) (string, error) {
	if s == "" || s[0] == '-' || strings.ContainsFunc(s,
		func(r rune) bool { return !isLetter(r) && (r < '0' || r > '9') && !strings.ContainsRune("+-_.", r) }) {
		return "", errors.New("the name of a library, such as fftw3 or m")
	}
	return s, nil
}

// readEstimate reads a time, or a model of the program and a size.
func (d *Draft) readEstimate(v yamlfile.Value) {
	if v.Kind() != yamlfile.Mapping {
		d.Estimate = ReadScalar(v, parseDuration)
		return
	}
	var file string
	var size float64
	found := v.ReadMapping(
		yamlfile.ReadField("model", func(v yamlfile.Value) { file = ReadScalar(v, ParseText) }),
		yamlfile.ReadField("size", func(v yamlfile.Value) { size = v.PositiveNumber(1e15) }),
	)
	found.RequireField("model", "a file that godwit model fit wrote")
	found.RequireField("size", "the size at which the program is to run")
	if v.HasFailed() {
		return
	}
	if err := d.estimateBy(file, size); err != nil {
		v.ReportError(file, err.Error())
	}
}

// maxModel is far above what any fit writes.
const maxModel = 64 << 20

// estimateBy has a model say what the job needs on the reference host.
func (d *Draft) estimateBy(file string, size float64) error {
	m, err := ReadModel(d.absolutePath(file))
	if err == nil {
		err = m.EstimateJob(&d.Job, size)
	}
	d.modelled = d.Estimate
	return err
}

// Model is a model of a program, see package perfmodel.
type Model struct {
	name  string
	model *perfmodel.Model
}

// ReadModel reads a model. The error says what would be right.
func ReadModel(path string) (*Model, error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxModel {
		return nil, errors.New("a model that godwit model fit wrote is needed there")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	m, err := perfmodel.DecodeFile(text)
	if err != nil {
		return nil, errors.New("a model as godwit model fit writes it: " + err.Error())
	}
	return &Model{filepath.Base(path), m}, nil
}

// EstimateJob says in the job what it needs at a size.
func (m *Model) EstimateJob(j *Job, size float64) error {
	s, err := m.model.ReferenceTime(size)
	if err != nil {
		return err
	}
	if s.High > maxEstimate {
		return errors.New("a size for which the model gives less than a hundred years")
	}
	j.Estimate = max(time.Duration(s.Value*float64(time.Second)), time.Millisecond)
	j.EstimateSpread = min(maxSpread, max(0.01, math.Log(s.High/s.Low)/(2*1.6449)))
	j.EstimateBy = m.name
	return nil
}

// dropOutdatedModel forgets the model if an estimate on the command line went over it.
func (d *Draft) dropOutdatedModel() error {
	if d.Estimate != d.modelled {
		d.EstimateBy, d.EstimateSpread = "", 0
	}
	return nil
}

// maxEstimate is in seconds.
const maxEstimate = 100 * 365 * 24 * 3600

const maxSpread = 5

// checkBuild finds what no file could have said about a build or a model.
func (j *Job) checkBuild() error {
	b := j.Build
	inside := append([]string{b.Dir}, b.Outputs...)
	for _, p := range inside {
		if p != "" && !filepath.IsLocal(p) {
			return &badinput.Error{Field: "build", Value: p, Want: "paths within the working directory"}
		}
	}
	if !(j.EstimateSpread >= 0 && j.EstimateSpread <= maxSpread) {
		return &badinput.Error{Field: "estimateSpread", Value: fmt.Sprint(j.EstimateSpread),
			Want: "a standard deviation of the logarithm from 0 to 5"}
	}
	if b.Command == "" && (b.Dir != "" || len(b.Outputs)+len(b.Needs) > 0) {
		return &badinput.Error{Field: "build.command", Want: "a shell line such as make"}
	}
	return nil
}
