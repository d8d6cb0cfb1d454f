package scenario

import (
	"strconv"

	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/app"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// program reads one of the applications of a workload.
func (r *reader) program(v yamlfile.Value, rigidSize int) workload.Program {
	a := &app.App{}
	p := workload.Program{App: a, Weight: 1, RigidSize: rigidSize}
	var whole core.Component
	var times *app.Table
	fields := []yamlfile.Field{
		yamlfile.Key("name", func(v yamlfile.Value) { a.Name = v.Text("the application's name") }),
		yamlfile.Key("share", func(v yamlfile.Value) { p.Weight = v.Number(0, maxFactor) }),
		yamlfile.Set("time", &times, r.table),
		yamlfile.Key("work", func(v yamlfile.Value) { p.Work = v.PositiveDuration().Seconds() }),
		yamlfile.Set("speedup", &a.Speedup, r.speedup),
		yamlfile.Set("accept", &a.Accept, r.accept),
		yamlfile.Set("resize", &a.Resize, yamlfile.Value.Duration),
		yamlfile.Key("rigid_size", func(v yamlfile.Value) { p.RigidSize = v.Whole(1, maxSize) }),
		yamlfile.Set("components", &p.Components, r.components),
	}
	found := v.Mapping(append(fields, r.componentFields(&whole)...)...)
	if r.failed() {
		return p
	}
	if p.Components == nil {
		needSizes(found)
		p.Components = []core.Component{whole}
		r.fits(whole, found)
	} else {
		noSizes(found)
	}
	switch {
	case a.Name == "":
		found.Fail("name", "", "the application's name; it is missing")
	case times != nil && (a.Speedup != nil || p.Work > 0):
		found.Fail("time", "", "either time, or work and speedup; both are given")
	case times != nil:
		a.Speedup, p.Work = times, times.Work()
	case a.Speedup == nil || p.Work == 0:
		v.Fail(a.Name, "time: {SIZE: SECONDS, …}, or work and speedup, to say how long it runs")
	}
	if !r.failed() {
		v.Adopt(p.Check())
	}
	return p
}

// componentFields are those that a component has, and an application of one
// component too.
func (r *reader) componentFields(c *core.Component) []yamlfile.Field {
	return []yamlfile.Field{
		yamlfile.Key("min", func(v yamlfile.Value) { c.Min = v.Whole(1, maxSize) }),
		yamlfile.Key("max", func(v yamlfile.Value) { c.Max = v.Whole(1, maxSize) }),
		yamlfile.Key("initial", func(v yamlfile.Value) { c.Initial = v.Whole(0, maxSize) }),
		yamlfile.Set("inputs", &c.Inputs, r.inputs),
		yamlfile.Key("clusters", func(v yamlfile.Value) {
			for item := range v.List("cluster names") {
				c.Clusters = append(c.Clusters, r.cluster(item))
			}
		}),
	}
}

func (r *reader) components(v yamlfile.Value) []core.Component {
	all := []core.Component{}
	for item := range v.List("components") {
		var c core.Component
		found := item.Mapping(r.componentFields(&c)...)
		needSizes(found)
		r.fits(c, found)
		all = append(all, c)
	}
	return all
}

func needSizes(found yamlfile.Found) {
	found.Need("min", "a number of cores")
	found.Need("max", "a number of cores")
}

func noSizes(found yamlfile.Found) {
	for _, name := range []string{"min", "max", "initial", "inputs", "clusters"} {
		if found.Has(name) {
			found.Fail(name, "", "within the components, since there are some")
		}
	}
}

// table reads run times by size.
func (r *reader) table(v yamlfile.Value) *app.Table {
	const want = "run times by number of cores, such as {2: 600, 4: 420}"
	var points []app.Point
	for key, took := range v.Entries(want) {
		size, err := strconv.Atoi(key.Text(want))
		if err != nil {
			key.Wrong(want)
		}
		points = append(points, app.Point{Size: size, Seconds: took.PositiveDuration().Seconds()})
	}
	if r.failed() {
		return nil
	}
	t, err := app.NewTable(points)
	if err != nil {
		v.Fail("", want+": "+err.Error())
	}
	return t
}

func (r *reader) speedup(v yamlfile.Value) app.Speedup {
	text := v.Text("a speed-up such as downey:A=64,sigma=1")
	if r.failed() {
		return nil
	}
	s, err := app.ParseSpeedup("", text)
	v.Adopt(err)
	return s
}

func (r *reader) accept(v yamlfile.Value) app.Acceptance {
	text := v.Text("any or powers-of-two")
	if r.failed() {
		return app.Any
	}
	a, err := app.ParseAcceptance("", text)
	v.Adopt(err)
	return a
}
