package scenario

import (
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

const wantTrace = "an SWF trace, plain or gzip"

func (r *reader) readTrace(v yamlfile.Value) {
	o := &workload.TraceOptions{MaxProcs: r.largestCluster()}
	r.s.Trace = o
	v.ReadMapping(
		yamlfile.ReadField("file", func(v yamlfile.Value) { o.File = v.ExistingFile(wantTrace) }),
		yamlfile.StoreField("kind", &o.Kind, r.readKind),
		yamlfile.ReadField("share", func(v yamlfile.Value) { o.Share = v.Number(1e-9, 1) }),
		yamlfile.ReadField("min_share", func(v yamlfile.Value) { o.MinShare = v.Number(1e-9, 1) }),
		yamlfile.ReadField("max_share", func(v yamlfile.Value) { o.MaxShare = v.Number(1, maxFactor) }),
		yamlfile.StoreField("speedup", &o.Speedup, r.readSpeedup),
		yamlfile.StoreField("estimates", &o.Estimates, r.readEstimates),
		yamlfile.StoreField("overrun", &o.Overrun, r.readOverrun),
		yamlfile.ReadField("load", func(v yamlfile.Value) { o.Load = v.Number(1e-6, maxFactor) }),
		yamlfile.ReadField("first", func(v yamlfile.Value) { o.First = v.WholeNumber(1, maxJobs) }),
		yamlfile.StoreField("lenient", &o.Lenient, yamlfile.Value.Bool),
	).RequireField("file", wantTrace)
}

func (r *reader) readKind(v yamlfile.Value) (k core.Kind) {
	name := v.OneOf(core.Rigid.String(), core.Moldable.String(), core.Malleable.String())
	if !r.hasFailed() {
		v.AdoptError(k.UnmarshalText([]byte(name)))
	}
	return k
}

func (r *reader) readEstimates(v yamlfile.Value) workload.Estimates {
	e, err := workload.ParseEstimates("", v.Text("user or exact"))
	v.AdoptError(err)
	return e
}

func (r *reader) readOverrun(v yamlfile.Value) workload.Overrun {
	o, err := workload.ParseOverrun("", v.Text("run or kill"))
	v.AdoptError(err)
	return o
}
