package jobfile

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// FarInput is an input that is not where the job is submitted: a file or a folder
// at a cluster, or what a depot holds. It is put into the work folder besides.
type FarInput struct {
	From string `json:"from"` // cluster:path, or depot:ID
	As   string `json:"as"`   // its name there
}

// InDepot is the site of what is in the broker's depot already.
const InDepot = "depot"

// SiteAndPath is the cluster, or InDepot, and the path there.
func (f *FarInput) SiteAndPath() (site, path string) {
	site, path, _ = strings.Cut(f.From, ":")
	return site, path
}

// atSite is a file at another site, or an object in a store.
var atSite = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*:`)
})

var tree = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{64}$`) })

// ParseLocalPath is a file of this machine.
func ParseLocalPath(s string) (string, error) {
	if atSite().MatchString(s) {
		return "", fmt.Errorf("a file of this machine; one with such a name is ./%s", s)
	}
	return parseInput(s)
}

// parseInput is a file of this machine or at a site.
func parseInput(s string) (string, error) {
	if s == "" || strings.ContainsRune(s, 0) {
		return "", fmt.Errorf("a file that is sent along, such as flight.dat")
	}
	if atSite().MatchString(s) {
		f := FarInput{From: s}
		return s, f.checkInput(true)
	}
	return s, nil
}

// checkInput says what is wrong with an input; by says that it gets its own name.
func (f *FarInput) checkInput(byItself bool) error {
	site, at := f.SiteAndPath()
	switch {
	case !atSite().MatchString(f.From) || at == "":
		return fmt.Errorf("cluster:path, or depot:ID; a file with such a name here is ./%s", f.From)
	case strings.HasPrefix(at, "//"):
		return fmt.Errorf("not supported yet: objects in stores come later; a file with such a name here is ./%s", f.From)
	case site == InDepot && !tree().MatchString(at):
		return fmt.Errorf("depot: and the 64 digits of what is there")
	case byItself && site == InDepot:
		return fmt.Errorf("a name for it too: {from: %s, as: NAME}", f.From)
	case byItself && !plainFile(path.Base(at)):
		return fmt.Errorf("a file or a folder, or a name for it too: {from: %s, as: NAME}", f.From)
	case !byItself && !plainFile(f.As):
		return fmt.Errorf("a name without slashes")
	}
	return nil
}

func plainFile(name string) bool {
	return name != "" && name != "." && name != ".." && name != "~" && !strings.ContainsAny(name, "/\x00")
}

// readInputs reads files, at a site too, by name or as {from, as}.
func (d *Draft) readInputs(v yamlfile.Value) {
	if v.Kind() == yamlfile.Scalar {
		d.Inputs = []string{ReadScalar(v, parseInput)}
		return
	}
	for item := range v.EachItem("files") {
		if item.Kind() == yamlfile.Mapping {
			d.readFar(item)
			continue
		}
		d.Inputs = append(d.Inputs, ReadScalar(item, parseInput))
	}
}

func (d *Draft) readFar(v yamlfile.Value) {
	var f FarInput
	found := v.ReadMapping(
		yamlfile.ReadField("from", func(v yamlfile.Value) {
			f.From = v.Text("cluster:path, or depot:ID")
			if !v.HasFailed() {
				if err := (&FarInput{From: f.From, As: "x"}).checkInput(false); err != nil {
					v.ReportWrong(err.Error())
				}
			}
		}),
		yamlfile.ReadField("as", func(v yamlfile.Value) { f.As = ReadScalar(v, parseAs) }),
	)
	found.RequireField("from", "where it is: cluster:path, or depot:ID")
	if site, at := f.SiteAndPath(); f.As == "" && site != InDepot && plainFile(path.Base(at)) {
		f.As = path.Base(at)
	} else if f.As == "" {
		found.RequireField("as", "its name in the working directory")
	}
	d.Far = append(d.Far, f)
}

func parseAs(s string) (string, error) {
	if !plainFile(s) {
		return "", fmt.Errorf("a name without slashes")
	}
	return s, nil
}

// sortOut takes the files at other sites from among the inputs.
func (d *Draft) sortOut() {
	var here []string
	for _, in := range d.Inputs {
		if f, isFar := farByName(in); isFar {
			d.Far = append(d.Far, f)
			continue
		}
		here = append(here, in)
	}
	d.Inputs = here
}

// farByName is a file at another site that keeps its name; false if it is one of this machine.
func farByName(in string) (FarInput, bool) {
	if !atSite().MatchString(in) {
		return FarInput{}, false
	}
	f := FarInput{From: in}
	_, at := f.SiteAndPath()
	f.As = path.Base(at)
	return f, true
}

// distinctFar checks that what comes from other sites lies nowhere else.
func (d *Draft) distinctFar(names map[string]string) error {
	for _, f := range d.Far {
		if other, ok := names[f.As]; ok && other != f.From {
			return d.fieldError("inputs", f.From, "a file of another name; "+other+" is called "+f.As+" too: {from: "+f.From+
				", as: NAME}")
		}
		if _, err := os.Lstat(filepath.Join(d.Workdir, f.As)); err == nil && d.Workdir != "" {
			return d.fieldError("inputs", f.From, "a file of another name; the working directory has a "+f.As+
				" of its own: {from: "+f.From+", as: NAME}")
		}
		names[f.As] = f.From
	}
	return nil
}

// checkFar is for jobs that come from elsewhere.
func (j *Job) checkFar() (FarInput, error) {
	for _, f := range j.Far {
		if err := f.checkInput(false); err != nil {
			return f, err
		}
	}
	return FarInput{}, nil
}
