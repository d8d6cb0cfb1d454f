package engine_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sched/malleable"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// The directives of a transcript:
//
//	grid a=10 n=2+2 b=8,managed,depth=4,resizes c=6,keep=2,growfree=1,reserves,speed=2
//	files big=125MB@a
//	link a b 1000                      megabits per second, both ways
//	config approach=pwa policy=egs scan=30 grace=60 grow=20 stop=600 collect=120 margin=10 claims=300 retry=1 tries=3 place=wf whole=yes describe=600 results=end
//	holds 2                            a step looks at two held jobs
//	restart                            the engine is lost, and made again from the log
//	at 30                              it is second 30 now
//	wake                               it is when the engine asked to be woken
//	tick                               the engine is called for no reason
//	submit 1 malleable 2-8 initial=2   or: rigid 4, moldable 2-4, rigid 4+3 for two components;
//	                                   also place= inputs= clusters= tries= retries= estimate= deadline= begin= array= limit=
//	                                   stays: not moved for its deadline; contract: held to what is promised
//	                                   path=3 for a pattern of three nodes, onehost, reliability=0.9
//	                                   after=afterok:1,after:2 for jobs that are live, after=afterany:5+3 for array 5 with 3 that have not started
//	returned 1 done                    its results are where they belong; also: returned 6 failed array=5 unrun
//	described 1 · described 1 nowhere
//	routed 1 n=0 from=a to=b           its first input comes to b from a; without from: through the broker
//	started 1 · ended 1 code=3 · crashed 1 cause=preempted · left 1 · progress 1 done=0.5
//	staged 1 · claimed 1 part=1 · lost 1 taken=0-3
//	granted 1 n=2                      by the manager of its cluster
//	answer 1 n=2 · giveback 1 n=2 · ask 1 n=2 must
//	cancel 1 · stop 1 to=b · stays 1
//	cancel 1 grace=30 · collecting 1   somebody is there to send SIGTERM, and SIGKILL after 30 s, and to fetch the files
//	danger 1 stay=100 b=20 c=90/60     its deadline is; about so many seconds are left here, and in b; to go to c costs 60 of them, else 1
//	broken 1 done=0.5                  its contract is
//	assessed 1 promise=400 left=300 done=0.25 phases=9 b=4:100/20,2:180/20   to go to b with 4 processors takes 100 s and costs 20 s
//	migrate 1 to=b · migrate 1 b=20    by its user, to b; or where it ends soonest
//	define c=4,speed=2 · define c=?    c was added or changed, or is not known yet
//	remove c                           it is not in the settings any more
//	weather a 70,50,10                 Mbit/s between its hosts: 0-1, 0-2, 1-2, …
//	rated a 0.9                        it brings nine of ten jobs to their end
//	felt a 0.5                         a newcomer gets half a processor in a
//	poll a 0-3 · down a 0-1 · up a 0-1
//	show                               the state of the grid
//
// Messages of jobs are of the present epoch unless they say epoch=1.
func (s *stage) play(line string) (string, error) {
	w := newWords(line)
	verb := w.next()
	switch verb {
	case "grid", "files", "link", "config":
		return "", s.prepare(verb, w)
	case "at":
		sec, err := strconv.ParseFloat(w.next(), 64)
		s.now = core.AtSecond(sec)
		return "", err
	}
	if s.eng == nil {
		s.eng = engine.New(s.cfg, world.New(s.spec))
	}
	switch verb {
	case "show":
		return s.show(), nil
	case "holds":
		s.holds = w.number(w.next())
		s.eng.LimitHolds(s.holds)
		return "", w.err
	case "restart":
		return "", s.restart()
	}
	in, err := s.input(verb, w)
	if err != nil {
		return "", err
	}
	if rest := w.unused(); rest != "" {
		return "", fmt.Errorf("what is %s?", rest)
	}
	return s.step(in)
}

func (s *stage) input(verb string, w *words) (core.Input, error) {
	switch verb {
	case "wake":
		if s.wake == core.Never {
			return core.Input{}, errors.New("the engine does not want to be woken")
		}
		s.now = s.wake
		return core.Input{}, nil
	case "tick":
		return core.Input{}, nil
	case "submit":
		spec, err := s.job(w)
		return core.Input{Kind: core.Submit, Spec: spec, Undescribed: w.has("undescribed"), Hold: w.has("hold")}, err
	case "returned":
		in := core.Input{Kind: core.Returned, Job: core.JobID(w.number(w.next()))}
		err := in.Outcome.UnmarshalText([]byte(strings.ToUpper(w.next())))
		if in.Array = core.JobID(w.number(w.value("array"))); w.has("unrun") {
			in.NeverRan = true
		}
		return in, err
	case "described":
		in := core.Input{Kind: core.Described, Job: core.JobID(w.number(w.next()))}
		if j := s.eng.World().Job(in.Job); j != nil && !w.has("nowhere") {
			in.Spec = j.Spec()
		}
		return in, w.err
	case "poll", "down", "up":
		kinds := map[string]core.InputKind{"poll": core.Polled, "down": core.HostsDown, "up": core.HostsUp}
		c, err := s.clusterNamed(w.next())
		return core.Input{Kind: kinds[verb], Cluster: c, Procs: procs(w.next())}, err
	}
	if verb == "define" || verb == "remove" {
		return s.define(verb, w)
	}
	if verb == "drain" || verb == "undrain" {
		name, host, _ := strings.Cut(w.next(), "/")
		c, err := s.clusterNamed(name)
		in := core.Input{Kind: core.DrainCluster, Cluster: c,
			Drain: &core.Drain{Host: host, By: w.value("by"), Reason: strings.ReplaceAll(w.value("reason"), "_", " ")}}
		if verb == "undrain" {
			in.Kind = core.UndrainCluster
		}
		return in, err
	}
	if verb == "apart" {
		return s.apart(w)
	}
	if verb == "weather" || verb == "rated" {
		c, err := s.clusterNamed(w.next())
		in := core.Input{Kind: core.Rated, Cluster: c}
		for _, text := range split(w.next()) {
			x, _ := strconv.ParseFloat(text, 64)
			if in.Rating = x; verb == "weather" {
				if in.Kind, in.Rating = core.Weather, 0; in.Net == nil {
					in.Net = &core.Network{}
				}
				in.Net.Mbps = append(in.Net.Mbps, x)
			}
		}
		return in, err
	}
	if verb == "felt" {
		c, err := s.clusterNamed(w.next())
		share, _ := strconv.ParseFloat(w.next(), 64)
		return core.Input{Kind: core.Felt, Cluster: c, Reachable: share > 0, Share: share}, err
	}
	kinds := map[string]core.InputKind{"started": core.Started, "ended": core.Ended, "crashed": core.Crashed,
		"left":     core.Left,
		"progress": core.Progress, "staged": core.Staged, "routed": core.Routed, "claimed": core.Claimed,
		"lost": core.ClaimLost, "answer": core.Answer, "granted": core.Granted,
		"giveback": core.GiveBack, "ask": core.Ask, "cancel": core.Cancel, "stop": core.StopJob, "stays": core.StaysOn,
		"danger": core.InDanger,
		"broken": core.ContractBroken, "assessed": core.Assessed,
		"migrate": core.Migrate, "collecting": core.Collecting, "resize": core.ResizeJob,
		"hold": core.HoldJob, "release": core.ReleaseJob, "requeue": core.RequeueJob, "suspend": core.SuspendJob,
		"continue": core.ContinueJob, "update": core.UpdateJob}
	kind, known := kinds[verb]
	if !known {
		return core.Input{}, fmt.Errorf("unknown directive %q", verb)
	}
	in := core.Input{Kind: kind, Job: core.JobID(w.number(w.next()))}
	if j := s.eng.World().Job(in.Job); j != nil {
		in.Epoch = j.Epoch()
		if p := j.Part(0); p != nil && (kind == core.Answer || kind == core.Granted) {
			in.Serial = p.OfferSerial()
		}
	}
	in.Part, in.N, in.ExitCode = w.number(w.value("part")), w.number(w.value("n")), w.number(w.value("code"))
	in.Mandatory, in.Barred, in.Immediate, in.Cause = w.has("must"), w.has("barred"), w.has("now"), w.value("cause")
	in.Procs = procs(w.value("taken"))
	if w.is("grace") {
		in.Attended, in.Grace = true, time.Duration(w.number(w.value("grace")))*time.Second
	}
	if in.Hold = w.has("hold"); kind == core.UpdateJob {
		return s.update(in, w)
	}
	in.Done, _ = strconv.ParseFloat(w.value("done"), 64)
	if kind == core.Assessed {
		in.Assessment = s.assessment(w)
	}
	if kind == core.ContractBroken {
		in.Why = core.Reason{Code: core.ContractViolated, A: 4, B: 2}
	}
	if kind == core.InDanger || kind == core.Migrate {
		in.Outlook = s.outlook(w)
	}
	if kind == core.Routed {
		in.Cluster, _ = s.clusterNamed(w.value("to"))
		in.Why = core.Reason{Code: core.WayFastest, A: 3, B: 5}
		if from := w.value("from"); from != "" {
			c, err := s.clusterNamed(from)
			in.Aim = core.AimAt(c)
			return in, err
		}
		return in, w.err
	}
	if to := w.value("to"); to != "" {
		c, err := s.clusterNamed(to)
		if err != nil {
			return in, err
		}
		in.Aim = core.AimAt(c)
	}
	if in.Part > 0 || w.is("serial") {
		in.Serial = w.number(w.value("serial"))
	}
	if w.is("epoch") {
		in.Epoch = core.Epoch(w.number(w.value("epoch")))
	}
	return in, w.err
}

// update reads what a user changes of a job.
func (s *stage) update(in core.Input, w *words) (core.Input, error) {
	in.Change = &core.Change{Anywhere: w.has("anywhere")}
	if w.is("deadline") {
		at := core.Time(w.seconds("deadline"))
		in.Change.Deadline = &at
	}
	if w.is("begin") {
		at := core.Time(w.seconds("begin"))
		in.Change.Begin = &at
	}
	for _, name := range split(w.value("clusters")) {
		id, err := s.clusterNamed(name)
		if err != nil {
			return in, err
		}
		in.Change.Clusters = append(in.Change.Clusters, id)
	}
	return in, w.err
}

// assessment reads what is predicted of a job.
func (s *stage) assessment(w *words) *core.Assessment {
	if !w.is("promise") {
		return nil
	}
	number := func(text string) float64 { x, _ := strconv.ParseFloat(text, 64); return x }
	a := &core.Assessment{Promise: number(w.value("promise")), Left: number(w.value("left")),
		Done: number(w.value("done")), Phases: w.number(w.value("phases"))}
	for id, c := range s.eng.World().Clusters() {
		for _, option := range split(w.value(c.Name())) {
			size, rest, _ := strings.Cut(option, ":")
			left, cost, _ := strings.Cut(rest, "/")
			a.Options = append(a.Options, core.MoveOption{Cluster: core.ClusterID(id), Size: w.number(size),
				Left: number(left), Cost: core.MoveCost{Redistribute: number(cost)}})
		}
	}
	return a
}

// apart reads that two clusters cannot reach each other, as a job found out if one is named; or that they can.
func (s *stage) apart(w *words) (core.Input, error) {
	one, err := s.clusterNamed(w.next())
	if err != nil {
		return core.Input{}, err
	}
	other, err := s.clusterNamed(w.next())
	in := core.Input{Kind: core.FoundApart, Cluster: one, Aim: core.AimAt(other), Reachable: w.has("not"),
		Job: core.JobID(w.number(w.value("job")))}
	if j := s.eng.World().Job(in.Job); j != nil {
		in.Epoch = j.Epoch()
	}
	if w.is("epoch") {
		in.Epoch = core.Epoch(w.number(w.value("epoch")))
	}
	return in, err
}

// define reads what a cluster consists of from now on.
func (s *stage) define(verb string, w *words) (core.Input, error) {
	word := w.next()
	name, _, _ := strings.Cut(word, "=")
	id, err := s.clusterNamed(name)
	if verb == "remove" {
		spec := s.eng.World().Cluster(id).Spec()
		spec.Removed = true
		return core.Input{Kind: core.DefineCluster, Cluster: id, Grid: &spec}, err
	}
	spec := w.cluster(word)
	if err != nil {
		id = core.ClusterID(len(s.spec.Clusters))
		s.spec.Clusters = append(s.spec.Clusters, world.ClusterSpec{Name: name})
	}
	return core.Input{Kind: core.DefineCluster, Cluster: id, Grid: &spec}, w.err
}

// outlook reads what is left of a job here and in the clusters named.
func (s *stage) outlook(w *words) *core.Outlook {
	left := func(text string) (quantiles []float64, cost float64) {
		text, of, _ := strings.Cut(text, "/")
		sec, _ := strconv.ParseFloat(text, 64)
		if cost, _ = strconv.ParseFloat(of, 64); of == "" {
			cost = 1
		}
		return predict.LogNormal(sec, 0.05).Quantiles(), cost
	}
	o := &core.Outlook{Confidence: 0.95}
	o.Stay, _ = left(w.value("stay"))
	for i := range s.spec.Clusters {
		if text := w.value(s.spec.Clusters[i].Name); text != "" {
			quantiles, cost := left(text)
			o.Moves = append(o.Moves, core.Alternative{Cluster: core.ClusterID(i), Left: quantiles, Overhead: cost})
		}
	}
	return o
}

func (s *stage) job(w *words) (*core.Job, error) {
	j := &core.Job{ID: core.JobID(w.number(w.next()))}
	if err := j.Kind.UnmarshalText([]byte(w.next())); err != nil {
		return nil, err
	}
	for _, size := range strings.Split(w.next(), "+") {
		least, most, ranged := strings.Cut(size, "-")
		if !ranged {
			most = least
		}
		c := core.Component{Min: w.number(least), Max: w.number(most), Initial: w.number(w.value("initial")),
			OneHost: w.has("onehost")}
		c.Reliability, _ = strconv.ParseFloat(w.value("reliability"), 64)
		if n := w.number(w.value("path")); n > 0 {
			c.Pattern = &core.Pattern{Name: "path", Nodes: n}
			for i := range n - 1 {
				c.Pattern.Edges = append(c.Pattern.Edges, core.Edge{A: i, B: i + 1, Weight: 1})
			}
		}
		for _, f := range split(w.value("inputs")) {
			c.Inputs = append(c.Inputs, s.fileNamed(f))
		}
		for _, name := range split(w.value("clusters")) {
			id, err := s.clusterNamed(name)
			if err != nil {
				return nil, err
			}
			c.Clusters = append(c.Clusters, id)
		}
		j.Components = append(j.Components, c)
	}
	if w.is("place") {
		if err := j.Place.UnmarshalText([]byte(w.value("place"))); err != nil {
			return nil, err
		}
	}
	j.MaxTries, j.Retries = w.number(w.value("tries")), w.number(w.value("retries"))
	j.RetryOn, j.StaysPut, j.Joint = split(w.value("on")), w.has("stays"), w.has("joint")
	if w.has("contract") {
		j.Contract = &core.Contract{}
	}
	j.Estimate, j.Deadline = w.seconds("estimate"), core.Time(w.seconds("deadline"))
	j.Begin, j.Array, j.ArrayLimit = core.Time(w.seconds("begin")), core.JobID(w.number(w.value("array"))),
		w.number(w.value("limit"))
	for _, text := range split(w.value("after")) {
		d, err := s.dependency(w, text)
		if err != nil {
			return nil, err
		}
		j.After = append(j.After, d)
	}
	return j, w.err
}

// dependency reads one such as afterok:1. How a job is doing the world knows; one
// that is not live has gone well.
func (s *stage) dependency(w *words, text string) (d core.Dependency, err error) {
	when, of, _ := strings.Cut(text, ":")
	of, more, isArray := strings.Cut(of, "+")
	d.Job, d.Array = core.JobID(w.number(of)), isArray
	d.Target.Unfinished = w.number(more)
	d.Target.NotStarted = d.Target.Unfinished
	if j := s.eng.World().Job(d.Job); j != nil && !isArray {
		d.Target.Unfinished = 1
		if j.AttemptCount() == 0 {
			d.Target.NotStarted = 1
		}
	}
	return d, d.When.UnmarshalText([]byte(when))
}

func (s *stage) prepare(verb string, w *words) error {
	switch verb {
	case "grid":
		for word := w.next(); word != ""; word = w.next() {
			s.spec.Clusters = append(s.spec.Clusters, w.cluster(word))
		}
	case "files":
		for word := w.next(); word != ""; word = w.next() {
			name, rest, _ := strings.Cut(word, "=")
			size, at, _ := strings.Cut(rest, "MB@")
			c, err := s.clusterNamed(at)
			if err != nil {
				return err
			}
			s.files = append(s.files, name)
			s.spec.Files = append(s.spec.Files,
				world.FileSpec{Name: name, Bytes: int64(w.number(size)) * 1e6, At: []core.ClusterID{c}})
		}
	case "link":
		return s.link(w)
	case "config":
		s.cfg = engine.Config{Malleable: malleable.ByName(w.value("policy")), ScanEvery: w.seconds("scan"),
			ShrinkGrace: w.seconds("grace"), GrowGrace: w.seconds("grow"),
			StopGrace: w.seconds("stop"), CollectGrace: w.seconds("collect"), ClaimGrace: w.seconds("claims"),
			ClaimMargin: w.seconds("margin"),
			RetryPause:  w.seconds("retry")}
		if w.value("approach") == "pwa" {
			s.cfg.Approach = engine.PWA
		}
		s.cfg.Whole = w.value("whole") == "yes"
		s.cfg.Resched.Gain.Mode = w.value("mode")
		s.cfg.ResultsAtEnd = w.value("results") == "end"
		s.cfg.Describes, s.cfg.DescribeEvery = w.is("describe"), w.seconds("describe")
		s.spec.MaxTries = w.number(w.value("tries"))
		if w.is("place") {
			return s.spec.DefaultPlace.UnmarshalText([]byte(w.value("place")))
		}
	}
	return w.err
}

func (s *stage) link(w *words) error {
	a, err := s.clusterNamed(w.next())
	if err != nil {
		return err
	}
	b, err := s.clusterNamed(w.next())
	if s.spec.Paths == nil {
		s.spec.Paths = make([][]world.Path, len(s.spec.Clusters))
		for i := range s.spec.Paths {
			s.spec.Paths[i] = make([]world.Path, len(s.spec.Clusters))
		}
	}
	p := world.Path{Mbps: float64(w.number(w.next()))}
	s.spec.Paths[a][b], s.spec.Paths[b][a] = p, p
	return err
}

func (s *stage) clusterNamed(name string) (core.ClusterID, error) {
	for i, c := range s.spec.Clusters {
		if c.Name == name {
			return core.ClusterID(i), nil
		}
	}
	return 0, fmt.Errorf("no cluster is called %q", name)
}

func (s *stage) fileNamed(name string) core.FileID {
	for i, f := range s.files {
		if f == name {
			return core.FileID(i)
		}
	}
	return 99 // one that nobody listed
}

// words is a directive taken apart: plain words in order, and key=value pairs.
type words struct {
	plain []string
	pairs map[string]string
	used  map[string]bool
	err   error
}

func newWords(line string) *words {
	w := &words{pairs: map[string]string{}, used: map[string]bool{}}
	verb, _, _ := strings.Cut(line, " ")
	for _, word := range strings.Fields(line) {
		if k, v, ok := strings.Cut(word, "="); ok && verb != "grid" && verb != "files" && verb != "define" {
			w.pairs[k] = v
		} else {
			w.plain = append(w.plain, word)
		}
	}
	return w
}

func (w *words) next() string {
	if len(w.plain) == 0 {
		return ""
	}
	first := w.plain[0]
	w.plain = w.plain[1:]
	return first
}

func (w *words) is(key string) bool { _, there := w.pairs[key]; return there }

func (w *words) value(key string) string {
	w.used[key] = true
	return w.pairs[key]
}

// has takes a plain word such as must.
func (w *words) has(word string) bool {
	if len(w.plain) == 0 || w.plain[0] != word {
		return false
	}
	w.plain = w.plain[1:]
	return true
}

func (w *words) number(text string) int {
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		w.err = err
	}
	return n
}

func (w *words) seconds(key string) time.Duration {
	if !w.is(key) {
		return 0
	}
	sec, err := strconv.ParseFloat(w.value(key), 64)
	if err != nil {
		w.err = err
	}
	return core.DurationFromSeconds(sec)
}

// unused is what nobody asked for: a slip in the script.
func (w *words) unused() string {
	for k := range w.pairs {
		if !w.used[k] {
			return k
		}
	}
	return strings.Join(w.plain, " ")
}

// cluster reads name=size,option,option=value.
func (w *words) cluster(word string) world.ClusterSpec {
	name, rest, _ := strings.Cut(word, "=")
	options := strings.Split(rest, ",")
	c := world.ClusterSpec{Name: name}
	speed := 1
	for _, o := range options[1:] {
		key, value, _ := strings.Cut(o, "=")
		switch key {
		case "managed":
			c.Managed = true
		case "isolated":
			c.Isolated = true
		case "depth":
			c.Depth = w.number(value)
		case "resizes":
			c.Resizes = true
		case "reserves":
			c.Reserves = true
		case "keep":
			c.KeepFree = w.number(value)
		case "growfree":
			c.GrowFree = w.number(value)
		case "speed":
			speed = w.number(value)
		default:
			w.err = fmt.Errorf("what is %s?", o)
		}
	}
	if options[0] == "?" {
		return c
	}
	for i, n := range strings.Split(options[0], "+") { // one host, or several: 2+2
		c.Hosts = append(c.Hosts, world.HostSpec{Name: fmt.Sprint("n", i+1), Procs: w.number(n), Speed: float64(speed)})
	}
	return c
}

func split(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}
