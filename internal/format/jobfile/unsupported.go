package jobfile

import (
	"maps"
	"slices"

	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// notYet are the fields that job files may have and that nobody carries out yet.
var notYet = map[string]string{
	"requirements": "choosing hosts by an expression comes later; on names the clusters that will do",
	"rank":         "ranking clusters by an expression comes later; place chooses how they are ranked",
	"file_mounts":  "files put elsewhere than in the working directory come later; inputs names files that are sent along",
	"secrets":      "secrets come later; envs has variables",
	"volumes":      "volumes come later",
	"service":      "services come later; a job has an end",
}

// refusedFields makes fields that are known and refused: what they ask for would
// otherwise be left out silently.
func refusedFields(known map[string]string) []field {
	var fields []field
	for _, name := range slices.Sorted(maps.Keys(known)) {
		fields = append(fields, field{name, func(v yamlfile.Value) {
			if v.Kind() == yamlfile.Blank || v.Kind() != yamlfile.Scalar && v.Len() == 0 {
				return // nothing is asked for
			}
			v.ReportError("", "not supported yet: "+known[name])
		}})
	}
	return fields
}

// The fields of SkyPilot's task files that only clouds give a meaning.
var (
	cloudKeys      = []string{"config", "event_callback", "experimental", "pool", "api_server"}
	cloudResources = []string{
		"infra", "cloud", "region", "zone", "instance_type", "accelerator_args", "use_spot", "spot_recovery",
		"job_recovery", "disk_size", "disk_tier", "network_tier", "local_disk", "max_hourly_cost", "image_id", "ports",
		"labels",
		"autostop", "priority", "any_of", "ordered",
	}
)

// ignoredFields makes fields that are left out with a warning.
func (d *Draft) ignoredFields(names []string) []field {
	var fields []field
	for _, name := range names {
		fields = append(fields, field{name, func(v yamlfile.Value) {
			if v.Kind() == yamlfile.Blank {
				return
			}
			d.Warnings = append(d.Warnings, Warning{v.File(), v.Line(), name, "ignored: applies to clouds only"})
		}})
	}
	return fields
}
