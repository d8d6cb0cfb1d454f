package jobfile

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// gpuOptions are the options of Slurm that ask for RequestedGPUs.
var gpuOptions = []string{"gres", "gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task", "ntasks-per-gpu",
	"cpus-per-gpu", "mem-per-gpu", "tres-per-task"}

// asksGPU says whether an option of Slurm asks for RequestedGPUs.
func asksGPU(name, value string) bool {
	switch name {
	case "gres", "tres-per-task":
		return strings.Contains(value, "gpu") && !strings.HasSuffix(value, "gpu:0")
	}
	return slices.Contains(gpuOptions, name) && value != "0"
}

// RequestedGPUs is what of the job asks for RequestedGPUs, as it is written; "" if nothing does.
func (j *Job) RequestedGPUs() string {
	for _, name := range slices.Sorted(maps.Keys(j.Manager.Options)) {
		if j.Manager.Kind == GridEngine {
			continue // its complexes are what the site calls them
		}
		for _, value := range j.Manager.Options[name] {
			if asksGPU(strings.TrimPrefix(name, "slurm."), value) {
				return strings.TrimPrefix(name, "slurm.") + "=" + value
			}
		}
	}
	return ""
}

// accelerator is how SkyPilot names one: A100, A100:2, A100-80GB:1.
var accelerator = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_.-]*)(?::([1-9][0-9]{0,3}))?$`)
})

// readAccelerators reads what SkyPilot's task files ask for: A100:1 or {A100: 1}. It becomes
// what clusters of Slurm are told.
func (d *Draft) readAccelerators(v yamlfile.Value) {
	const want = "one kind of accelerator and how many, such as A100:1"
	text := ""
	switch {
	case v.Kind() == yamlfile.Blank:
		return
	case v.Kind() == yamlfile.Scalar:
		text = v.Text(want)
	case v.Kind() == yamlfile.Mapping && v.Len() == 1:
		for key, value := range v.EachEntry(want) {
			text = key.Text(want) + ":" + value.Text(want)
		}
	}
	m := accelerator().FindStringSubmatch(text)
	if m == nil {
		v.ReportWrong(want)
		return
	}
	count := m[2]
	if count == "" {
		count = "1"
	}
	gres := fmt.Sprintf("gpu:%s:%s", strings.ToLower(m[1]), count)
	d.addOption("gres", gres)
	d.Warnings = append(d.Warnings,
		Warning{v.File(), v.Line(), "accelerators", "the job runs on Slurm clusters only, with --gres=" + gres})
}
