package jobfile

import (
	"path/filepath"
	"regexp"
	"slices"
	"sync"
)

// A job file without workdir runs in an empty folder, as a task file of SkyPilot
// does. That would be of no use to one that names results to be brought back, or a
// program by where it lies beside the file: such a file has its own folder as workdir.

// hereInLine finds a word of a shell line that begins with ./ or ../.
var hereInLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(^|[\\s;&|({<>=\"'`])\\.\\.?/")
})

// defaultWorkdir is the folder of the job file, if it needs one and names none.
func (d *Draft) defaultWorkdir() {
	if !d.isYAML || d.hasField("workdir") || !d.needsFolder() {
		return
	}
	file := d.at[""].File
	d.Workdir, d.at["workdir"] = filepath.Dir(d.absolutePath(file)), Origin{File: file}
}

// needsFolder reports whether the job makes sense in a folder only.
func (d *Draft) needsFolder() bool {
	if len(d.Outputs) > 0 || slices.ContainsFunc([]string{d.line, d.Setup}, hereInLine().MatchString) {
		return true
	}
	return len(d.listed) > 0 && hereInLine().MatchString(d.listed[0])
}
