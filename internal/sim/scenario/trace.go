package scenario

import (
	"go.yaml.in/yaml/v3"

	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

func (r *reader) trace(n *yaml.Node) {
	o := &workload.TraceOptions{MaxProcs: r.largest()}
	r.s.Trace = o
	lines := r.mapping(n, "trace",
		field{"file", func(n *yaml.Node, path string) { o.File = r.path(n, path, "an SWF trace, plain or gzip") }},
		field{"kind", func(n *yaml.Node, path string) { o.Kind = r.kind(n, path) }},
		field{"share", func(n *yaml.Node, path string) { o.Share = r.number(n, path, 1e-9, 1) }},
		field{"min_share", func(n *yaml.Node, path string) { o.MinShare = r.number(n, path, 1e-9, 1) }},
		field{"max_share", func(n *yaml.Node, path string) { o.MaxShare = r.number(n, path, 1, maxFactor) }},
		field{"speedup", func(n *yaml.Node, path string) { o.Speedup = r.speedup(n, path) }},
		field{"estimates", func(n *yaml.Node, path string) { o.Estimates = r.estimates(n, path) }},
		field{"overrun", func(n *yaml.Node, path string) { o.Overrun = r.overrun(n, path) }},
		field{"load", func(n *yaml.Node, path string) { o.Load = r.number(n, path, 1e-6, maxFactor) }},
		field{"first", func(n *yaml.Node, path string) { o.First = r.whole(n, path, 1, maxJobs) }},
		field{"lenient", func(n *yaml.Node, path string) { o.Lenient = r.boolean(n, path) }},
	)
	if lines["file"] == 0 {
		r.fail(lines[""], "trace.file", "", "an SWF trace, plain or gzip; it is missing")
	}
}

func (r *reader) kind(n *yaml.Node, path string) (k core.Kind) {
	name := r.choice(n, path, core.Rigid.String(), core.Moldable.String(), core.Malleable.String())
	if !r.failed() {
		r.adopt(k.UnmarshalText([]byte(name)), n.Line, path)
	}
	return k
}

func (r *reader) estimates(n *yaml.Node, path string) workload.Estimates {
	e, err := workload.ParseEstimates(path, r.scalar(n, path, "user or exact"))
	r.adopt(err, n.Line, path)
	return e
}

func (r *reader) overrun(n *yaml.Node, path string) workload.Overrun {
	o, err := workload.ParseOverrun(path, r.scalar(n, path, "run or kill"))
	r.adopt(err, n.Line, path)
	return o
}
