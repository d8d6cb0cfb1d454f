package lab

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// Scenario is what happens on a lab, and when.
type Scenario struct {
	File   string
	Plan   *Plan
	Before [][]string        // verbs that are done before the broker starts
	Broker bool              // a broker is to run on the lab's head
	Budget string            // what its probes may use of each link; "": what is usual
	Policy map[string]string // how it places and resizes jobs, as in its settings; nil: what is usual
	Steps  []Step
}

// Step is one thing that happens. It has one of Do, Run and Check.
type Step struct {
	At     time.Duration
	Line   int      // in the file
	Do     []string // a verb and what it is done to: load north1 2
	Run    string   // a shell command
	Check  string   // a shell command that must succeed
	On     string   // the host on which it runs
	As     string   // a user of the lab; "": root
	Says   string   // what the output of a check must contain
	Stays  bool     // a run that goes on beside the rest
	Within time.Duration
}

const (
	maxSteps = 1000
	// commandTimeout is how long a command may take.
	commandTimeout = time.Minute
)

// LoadScenario reads a scenario from a file.
func LoadScenario(path string) (*Scenario, error) {
	data, err := yamlfile.ReadFile(path, "a scenario of a lab", maxFile)
	if err != nil {
		return nil, err
	}
	return ReadScenario(path, data)
}

// ReadScenario reads a scenario; name is the file as the user knows it. The plan
// is another file, named relative to this one, or stands in the scenario.
func ReadScenario(name string, data []byte) (*Scenario, error) {
	top, err := yamlfile.Parse(name, "a scenario of a lab", data)
	if err != nil {
		return nil, err
	}
	s := &Scenario{File: name}
	var before, steps yamlfile.Value
	found := top.ReadMapping(
		yamlfile.ReadField("plan", func(v yamlfile.Value) { s.Plan = readScenarioPlan(v) }),
		yamlfile.StoreField("broker", &s.Broker, yamlfile.Value.Bool),
		yamlfile.StoreField("budget", &s.Budget,
			func(v yamlfile.Value) string { return v.Text("a part of each link, such as 5%") }),
		yamlfile.StoreField("policy", &s.Policy, readPolicy),
		yamlfile.DeferField("before", &before),
		yamlfile.DeferField("steps", &steps),
	)
	found.RequireField("plan", "the plan of a lab, or the file that has it")
	found.RequireField("steps", "what happens, and when")
	if !top.HasFailed() && found.HasField("before") {
		for v := range before.EachItem("verbs, such as: load north1 2") {
			s.Before = append(s.Before, s.readVerb(v))
		}
	}
	if !top.HasFailed() {
		s.Steps = s.readSteps(steps)
	}
	if err := top.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// readPolicy reads a policy of a broker's settings; whoever starts the broker knows what it means.
func readPolicy(v yamlfile.Value) map[string]string {
	policy := map[string]string{}
	for name, v := range v.EachEntry("a policy as in the settings of a broker, such as {approach: pwa, malleable: egs}") {
		policy[name.Text("the name of a setting")] = v.Text("its value")
	}
	return policy
}

func readScenarioPlan(v yamlfile.Value) *Plan {
	if v.Kind() == yamlfile.Mapping {
		p := readPlan(v)
		return p
	}
	path := v.ExistingFile("a plan of a lab")
	if v.HasFailed() {
		return nil
	}
	p, err := LoadPlan(path)
	if err != nil {
		v.AdoptError(err)
		return nil
	}
	return p
}

func (s *Scenario) readSteps(v yamlfile.Value) []Step {
	var list []Step
	for v := range v.EachItem("steps") {
		list = append(list, s.readStep(v))
		if len(list) > maxSteps {
			v.ReportError("", fmt.Sprintf("at most %d steps", maxSteps))
		}
	}
	slices.SortStableFunc(list, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
	return list
}

func (s *Scenario) readStep(v yamlfile.Value) Step {
	st := Step{Line: v.Line(), On: HeadName, Within: commandTimeout}
	command := func(v yamlfile.Value) string { return v.Text("a shell command") }
	found := v.ReadMapping(
		yamlfile.StoreField("at", &st.At, yamlfile.Value.Duration),
		yamlfile.ReadField("do", func(v yamlfile.Value) { st.Do = s.readVerb(v) }),
		yamlfile.StoreField("run", &st.Run, command),
		yamlfile.StoreField("check", &st.Check, command),
		yamlfile.ReadField("on", func(v yamlfile.Value) { st.On = s.oneOf(v, "host", s.Plan.hostNames()) }),
		yamlfile.ReadField("as", func(v yamlfile.Value) { st.As = s.oneOf(v, "user", s.Plan.Users) }),
		yamlfile.ReadField("says", func(v yamlfile.Value) { st.Says = v.Text("a text") }),
		yamlfile.StoreField("stays", &st.Stays, yamlfile.Value.Bool),
		yamlfile.StoreField("within", &st.Within, yamlfile.Value.PositiveDuration),
	)
	n := 0
	for _, key := range []string{"do", "run", "check"} {
		if found.HasField(key) {
			n++
		}
	}
	if n != 1 && !v.HasFailed() {
		v.ReportError("", "one of do, run and check in each step")
	}
	for _, wrong := range []struct {
		key  string
		only bool
		why  string
	}{
		{"on", st.Do == nil, "only with run and check"},
		{"as", st.Do == nil, "only with run and check"},
		{"within", st.Do == nil && !st.Stays, "only with run and check, and not for what stays"},
		{"says", st.Check != "", "only with check"},
		{"stays", st.Run != "", "only with run"},
	} {
		if found.HasField(wrong.key) && !wrong.only && !v.HasFailed() {
			found.FailField(wrong.key, "", wrong.why)
		}
	}
	return st
}

func (s *Scenario) oneOf(v yamlfile.Value, kind string, known []string) string {
	name := v.Text("the name of a " + kind)
	if !v.HasFailed() && !slices.Contains(known, name) {
		v.ReportError(name, badinput.UnknownName(kind, name, known))
	}
	return name
}

// hostNames are those of all hosts.
func (p *Plan) hostNames() []string {
	names := []string{HeadName}
	for i := range p.Clusters {
		names = append(names, p.Clusters[i].hostNames()...)
	}
	return names
}

// siteNames are those of all sites.
func (p *Plan) siteNames() []string {
	names := []string{HeadName}
	for i := range p.Clusters {
		names = append(names, p.Clusters[i].Name)
	}
	return names
}

// readVerb is what is done to the lab: a verb with its arguments.
func (s *Scenario) readVerb(v yamlfile.Value) []string {
	text := v.Text("a verb and what it is done to, such as: load north1 2")
	words := strings.Fields(text)
	if v.HasFailed() {
		return nil
	}
	if len(words) == 0 {
		v.ReportWrong("a verb and what it is done to, such as: load north1 2")
		return nil
	}
	verb := findVerb(words[0])
	if verb == nil {
		v.ReportError(words[0], badinput.UnknownName("verb", words[0], VerbNames()))
		return nil
	}
	if err := verb.checkWords(s.Plan, words[1:]); err != nil {
		v.ReportError(text, verb.usageLine()+" ("+err.Error()+")")
	}
	return words
}

// ScenarioTitle is what a scenario is called.
func (s *Scenario) ScenarioTitle() string {
	base := filepath.Base(s.File)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// String is a step in one line, as in a timeline.
func (st *Step) String() string {
	if st.Do != nil {
		return strings.Join(st.Do, " ")
	}
	who := st.On
	if st.As != "" {
		who = st.As + "@" + st.On
	}
	if st.Check != "" {
		return "check " + who + "$ " + st.Check
	}
	return who + "$ " + st.Run
}
