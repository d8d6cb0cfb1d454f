package scenario

import (
	"strconv"

	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/app"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// readProgram reads one of the applications of a workload.
func (r *reader) readProgram(v yamlfile.Value, rigidSize int) workload.Program {
	a := &app.App{}
	p := workload.Program{App: a, Weight: 1, RigidSize: rigidSize}
	var whole core.Component
	var times *app.Table
	var matrix yamlfile.Value
	fields := []yamlfile.Field{
		yamlfile.ReadField("name", func(v yamlfile.Value) { a.Name = v.Text("the application's name") }),
		yamlfile.ReadField("share", func(v yamlfile.Value) { p.Weight = v.Number(0, maxFactor) }),
		yamlfile.StoreField("time", &times, r.readTable),
		yamlfile.ReadField("work", func(v yamlfile.Value) { p.Work = v.PositiveDuration().Seconds() }),
		yamlfile.StoreField("speedup", &a.Speedup, r.readSpeedup),
		yamlfile.StoreField("accept", &a.Accept, r.readAcceptance),
		yamlfile.StoreField("resize", &a.Resize, yamlfile.Value.Duration),
		yamlfile.ReadField("rigid_size", func(v yamlfile.Value) { p.RigidSize = v.WholeNumber(1, maxSize) }),
		yamlfile.StoreField("components", &p.Components, r.readComponents),
		yamlfile.DeferField("matrix", &matrix),
		yamlfile.ReadField("data", func(v yamlfile.Value) { a.Data = v.Size(0) }),
		yamlfile.ReadField("phases", func(v yamlfile.Value) { a.Phases = v.WholeNumber(1, maxPhases) }),
		yamlfile.ReadField("predicted", func(v yamlfile.Value) { a.Predicted = v.PositiveNumber(maxFactor) }),
		yamlfile.StoreField("contract", &p.Contract, r.readContract),
		yamlfile.ReadField("start_on", func(v yamlfile.Value) { p.StartOn = core.AimAt(r.readCluster(v)) }),
	}
	found := v.ReadMapping(append(fields, r.componentFields(&whole)...)...)
	if r.hasFailed() {
		return p
	}
	if matrix.IsGiven() {
		r.readMatrix(matrix, &p)
	}
	if p.Components == nil {
		needSizes(found)
		p.Components = []core.Component{whole}
		r.checkFits(whole, found)
	} else {
		noSizes(found)
	}
	switch {
	case a.Name == "":
		found.FailField("name", "", "the application's name; it is missing")
	case times != nil && (a.Speedup != nil || p.Work > 0):
		found.FailField("time", "", "either time, or work and speedup; both are given")
	case times != nil:
		a.Speedup, p.Work = times, times.SequentialTime()
	case a.Speedup == nil || p.Work == 0:
		v.ReportError(a.Name, "time: {SIZE: SECONDS, …}, or work and speedup, to say how long it runs")
	case p.Contract != nil && a.Phases == 0:
		found.FailField("phases", "", "into how many parts its work falls, whose times are held against the contract")
	}
	if !r.hasFailed() {
		v.AdoptError(p.CheckFields())
	}
	return p
}

// componentFields are those that a component has, and an application of one
// component too.
func (r *reader) componentFields(c *core.Component) []yamlfile.Field {
	return []yamlfile.Field{
		yamlfile.ReadField("min", func(v yamlfile.Value) { c.Min = v.WholeNumber(1, maxSize) }),
		yamlfile.ReadField("max", func(v yamlfile.Value) { c.Max = v.WholeNumber(1, maxSize) }),
		yamlfile.ReadField("initial", func(v yamlfile.Value) { c.Initial = v.WholeNumber(0, maxSize) }),
		yamlfile.StoreField("inputs", &c.Inputs, r.readInputs),
		yamlfile.ReadField("clusters", func(v yamlfile.Value) {
			for item := range v.EachItem("cluster names") {
				c.Clusters = append(c.Clusters, r.readCluster(item))
			}
		}),
	}
}

func (r *reader) readComponents(v yamlfile.Value) []core.Component {
	all := []core.Component{}
	for item := range v.EachItem("components") {
		var c core.Component
		found := item.ReadMapping(r.componentFields(&c)...)
		needSizes(found)
		r.checkFits(c, found)
		all = append(all, c)
	}
	return all
}

func needSizes(found yamlfile.Found) {
	found.RequireField("min", "a number of cores")
	found.RequireField("max", "a number of cores")
}

func noSizes(found yamlfile.Found) {
	for _, name := range []string{"min", "max", "initial", "inputs", "clusters"} {
		if found.HasField(name) {
			found.FailField(name, "", "within the components, since there are some")
		}
	}
}

// readTable reads run times by size.
func (r *reader) readTable(v yamlfile.Value) *app.Table {
	const want = "run times by number of cores, such as {2: 600, 4: 420}"
	var points []app.Point
	for key, took := range v.EachEntry(want) {
		size, err := strconv.Atoi(key.Text(want))
		if err != nil {
			key.ReportWrong(want)
		}
		points = append(points, app.Point{Size: size, Seconds: took.PositiveDuration().Seconds()})
	}
	if r.hasFailed() {
		return nil
	}
	t, err := app.NewTable(points)
	if err != nil {
		v.ReportError("", want+": "+err.Error())
	}
	return t
}

func (r *reader) readSpeedup(v yamlfile.Value) app.Speedup {
	text := v.Text("a speed-up such as downey:A=64,sigma=1")
	if r.hasFailed() {
		return nil
	}
	s, err := app.ParseSpeedup("", text)
	v.AdoptError(err)
	return s
}

func (r *reader) readAcceptance(v yamlfile.Value) app.Acceptance {
	text := v.Text("any or powers-of-two")
	if r.hasFailed() {
		return app.Any
	}
	a, err := app.ParseAcceptance("", text)
	v.AdoptError(err)
	return a
}
