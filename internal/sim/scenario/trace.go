package scenario

import (
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

const wantTrace = "an SWF trace, plain or gzip"

func (r *reader) trace(v yamlfile.Value) {
	o := &workload.TraceOptions{MaxProcs: r.largest()}
	r.s.Trace = o
	v.Mapping(
		yamlfile.Key("file", func(v yamlfile.Value) { o.File = v.ExistingFile(wantTrace) }),
		yamlfile.Set("kind", &o.Kind, r.kind),
		yamlfile.Key("share", func(v yamlfile.Value) { o.Share = v.Number(1e-9, 1) }),
		yamlfile.Key("min_share", func(v yamlfile.Value) { o.MinShare = v.Number(1e-9, 1) }),
		yamlfile.Key("max_share", func(v yamlfile.Value) { o.MaxShare = v.Number(1, maxFactor) }),
		yamlfile.Set("speedup", &o.Speedup, r.speedup),
		yamlfile.Set("estimates", &o.Estimates, r.estimates),
		yamlfile.Set("overrun", &o.Overrun, r.overrun),
		yamlfile.Key("load", func(v yamlfile.Value) { o.Load = v.Number(1e-6, maxFactor) }),
		yamlfile.Key("first", func(v yamlfile.Value) { o.First = v.Whole(1, maxJobs) }),
		yamlfile.Set("lenient", &o.Lenient, yamlfile.Value.Bool),
	).Need("file", wantTrace)
}

func (r *reader) kind(v yamlfile.Value) (k core.Kind) {
	name := v.Choice(core.Rigid.String(), core.Moldable.String(), core.Malleable.String())
	if !r.failed() {
		v.Adopt(k.UnmarshalText([]byte(name)))
	}
	return k
}

func (r *reader) estimates(v yamlfile.Value) workload.Estimates {
	e, err := workload.ParseEstimates("", v.Text("user or exact"))
	v.Adopt(err)
	return e
}

func (r *reader) overrun(v yamlfile.Value) workload.Overrun {
	o, err := workload.ParseOverrun("", v.Text("run or kill"))
	v.Adopt(err)
	return o
}
