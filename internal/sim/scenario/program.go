package scenario

import (
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/sim/app"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// program reads one of the applications of a workload.
func (r *reader) program(n *yaml.Node, path string, rigidSize int) workload.Program {
	a := &app.App{}
	p := workload.Program{App: a, Weight: 1, RigidSize: rigidSize}
	var whole core.Component
	var times *app.Table
	fields := []field{
		{"name", func(n *yaml.Node, path string) { a.Name = r.scalar(n, path, "the application's name") }},
		{"share", func(n *yaml.Node, path string) { p.Weight = r.number(n, path, 0, maxFactor) }},
		{"time", func(n *yaml.Node, path string) { times = r.table(n, path) }},
		{"work", func(n *yaml.Node, path string) { p.Work = r.above(n, path).Seconds() }},
		{"speedup", func(n *yaml.Node, path string) { a.Speedup = r.speedup(n, path) }},
		{"accept", func(n *yaml.Node, path string) { a.Accept = r.accept(n, path) }},
		{"resize", func(n *yaml.Node, path string) { a.Resize = r.duration(n, path) }},
		{"rigid_size", func(n *yaml.Node, path string) { p.RigidSize = r.whole(n, path, 1, maxSize) }},
		{"components", func(n *yaml.Node, path string) { p.Components = r.components(n, path) }},
	}
	lines := r.mapping(n, path, append(fields, r.componentFields(&whole)...)...)
	if r.failed() {
		return p
	}
	line := lines[""]
	if p.Components == nil {
		r.needSizes(lines, path)
		p.Components = []core.Component{whole}
		r.fits(whole, line, path)
	} else {
		r.noSizes(lines, path)
	}
	switch {
	case a.Name == "":
		r.fail(line, join(path, "name"), "", "the application's name; it is missing")
	case times != nil && (a.Speedup != nil || p.Work > 0):
		r.fail(line, join(path, "time"), "", "either time, or work and speedup; both are given")
	case times != nil:
		a.Speedup, p.Work = times, times.Work()
	case a.Speedup == nil || p.Work == 0:
		r.fail(line, path, a.Name, "time: {SIZE: SECONDS, …}, or work and speedup, to say how long it runs")
	}
	if !r.failed() {
		r.adopt(p.Check(), line, path)
	}
	return p
}

// componentFields are those that a component has, and an application of one
// component too.
func (r *reader) componentFields(c *core.Component) []field {
	return []field{
		{"min", func(n *yaml.Node, path string) { c.Min = r.whole(n, path, 1, maxSize) }},
		{"max", func(n *yaml.Node, path string) { c.Max = r.whole(n, path, 1, maxSize) }},
		{"initial", func(n *yaml.Node, path string) { c.Initial = r.whole(n, path, 0, maxSize) }},
		{"inputs", func(n *yaml.Node, path string) { c.Inputs = r.inputs(n, path) }},
		{"clusters", func(n *yaml.Node, path string) {
			r.list(n, path, "cluster names", func(n *yaml.Node, path string) {
				c.Clusters = append(c.Clusters, r.cluster(n, path))
			})
		}},
	}
}

func (r *reader) components(n *yaml.Node, path string) []core.Component {
	all := []core.Component{}
	r.list(n, path, "components", func(n *yaml.Node, path string) {
		var c core.Component
		lines := r.mapping(n, path, r.componentFields(&c)...)
		r.needSizes(lines, path)
		if !r.failed() {
			r.fits(c, lines[""], path)
		}
		all = append(all, c)
	})
	return all
}

func (r *reader) needSizes(lines map[string]int, path string) {
	for _, name := range []string{"min", "max"} {
		if lines[name] == 0 {
			r.fail(lines[""], join(path, name), "", "a number of processors; it is missing")
		}
	}
}

func (r *reader) noSizes(lines map[string]int, path string) {
	for _, name := range []string{"min", "max", "initial", "inputs", "clusters"} {
		if lines[name] > 0 {
			r.fail(lines[name], join(path, name), "", "within the components, since there are some")
		}
	}
}

// table reads run times by size.
func (r *reader) table(n *yaml.Node, path string) *app.Table {
	const want = "run times by number of processors, such as {2: 600, 4: 420}"
	n = r.open(n)
	if n.Kind != yaml.MappingNode {
		r.fail(n.Line, path, show(n), want)
		return nil
	}
	var points []app.Point
	for i := 0; i+1 < len(n.Content) && !r.failed(); i += 2 {
		key := r.open(n.Content[i])
		size, err := strconv.Atoi(key.Value)
		if err != nil || key.Kind != yaml.ScalarNode {
			r.fail(key.Line, path, show(key), want)
		}
		took := r.above(n.Content[i+1], join(path, show(key)))
		points = append(points, app.Point{Size: size, Seconds: took.Seconds()})
	}
	if r.failed() {
		return nil
	}
	t, err := app.NewTable(points)
	if err != nil {
		r.fail(n.Line, path, "", want+": "+err.Error())
	}
	return t
}

func (r *reader) speedup(n *yaml.Node, path string) app.Speedup {
	text := r.scalar(n, path, "a speed-up such as downey:A=64,sigma=1")
	if r.failed() {
		return nil
	}
	s, err := app.ParseSpeedup(path, text)
	r.adopt(err, n.Line, path)
	return s
}

func (r *reader) accept(n *yaml.Node, path string) app.Acceptance {
	text := r.scalar(n, path, "any or powers-of-two")
	if r.failed() {
		return app.Any
	}
	a, err := app.ParseAcceptance(path, text)
	r.adopt(err, n.Line, path)
	return a
}
