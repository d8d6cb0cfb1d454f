package cli

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/dag"
	"github.com/godwit-hpc/godwit/internal/format/flowfile"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/live/flowrun"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/report/outfile"
	"github.com/godwit-hpc/godwit/internal/sched/flow"
)

const flowRunLong = `Runs a workflow: every task is a job, submitted when the tasks before it are done
and the plan says so, to the cluster that it says. A task finds in its folder the
files that its inputs name, and what its outputs name comes back to the folder of
the workflow. What has not started is planned again when reality departs from the
plan; finished tasks correct the estimates of those of their kind.

If this command, the broker or both are killed, run it again: it goes on where it
was, and what went well is not run twice. A task that failed is then tried again.
--fresh begins anew.

When a task fails for good, what waits for it is given up and the others run to
their end; with --stop nothing more is started. Ctrl-C cancels what runs.

Exit codes: 0 all tasks went well; 1 one failed; 2 bad input; 130 cancelled with
Ctrl-C.`

const flowRunExample = `  godwit flow run examples/flows/wordcount.yaml
  godwit flow run examples/flows/wordcount.yaml --gantt run.svg -o json

  # A recorded workflow without its programs: tasks burn 1/100 of their time
  godwit flow run montage.json.gz --burn 0.01`

type flowRunFlags struct {
	output string
	gantt  string
	fresh  bool
	stop   bool
	burn   float64

	platform string
}

func (a *app) flowRunCommand() *cobra.Command {
	f := &flowRunFlags{}
	cmd := &cobra.Command{
		Use:     "run WORKFLOW",
		Short:   "Run a workflow, each task as a job",
		Long:    flowRunLong,
		Example: flowRunExample,
		Args:    func(cmd *cobra.Command, args []string) error { return term.OneArgument(cmd, args, "a workflow file") },
		RunE:    func(cmd *cobra.Command, args []string) error { return a.flowRun(cmd.Context(), args[0], f) },
	}
	how, out := term.NewGroup("How"), term.NewGroup("Output")
	how.Flags.StringVar(&f.platform, "platform", "", "plan transfers between clusters by the links of the platform in `FILE`, which names them as the broker does")
	how.Flags.BoolVar(&f.fresh, "fresh", false, "begin anew, although an earlier run of the file is not done")
	how.Flags.BoolVar(&f.stop, "stop", false, "start nothing more once a task has failed")
	how.Flags.Var(term.NumberFlag(&f.burn, 0, 1000), "burn", "of WfFormat: run no programs, but burn this part of the recorded time of each task on a core")
	term.OutputFlag(out.Flags, &f.output)
	out.Flags.StringVar(&f.gantt, "gantt", "", "draw what ran where to `FILE` as SVG")
	term.GroupFlags(cmd, how, out)
	return cmd
}

func (a *app) flowRun(ctx context.Context, file string, f *flowRunFlags) error {
	work, err := a.runnableFlow(file, f.burn)
	if err != nil {
		return err
	}
	route, err := clusterRoutes(f.platform)
	if err != nil {
		return err
	}
	var chart *outfile.File
	if f.gantt != "" {
		if chart, err = outfile.Create(f.gantt); err != nil {
			return err
		}
		defer chart.Discard()
	}
	book, err := a.openFlowBook(file, f)
	if err != nil {
		return err
	}
	defer book.closeBook()
	v := a.newFlowView(f.output == "json")
	state, err := flowrun.Run(ctx, flowrun.Options{
		Flow: work, ID: book.ID, Again: book.again, Connect: a.connectBroker, Send: a.sendFiles, Clock: a.Now, StopAll: f.stop,
		Env: inheritedVariables(), See: v.showState, Route: route,
	})
	v.closeScreen()
	if state == nil {
		return err
	}
	if ctx.Err() != nil {
		a.SayLine("flow " + work.Name + " was cancelled; run it again to go on")
		return term.ExitCode(term.ExitInterrupted)
	}
	if err != nil {
		return err
	}
	if err := book.recordDone(state); err != nil {
		return err
	}
	if chart != nil {
		if err := commitFile(chart, ranGantt(state)); err != nil {
			return err
		}
		a.SayLine("wrote " + f.gantt)
	}
	return a.flowEnd(state, f.output)
}

// clusterRoutes are the ways between clusters that a platform describes; nil if there
// is none. Of clusters that it does not name nothing is known.
func clusterRoutes(file string) (func(from, to string) flow.Route, error) {
	if file == "" {
		return nil, nil
	}
	g, _, err := loadGrid(file)
	if err != nil {
		return nil, err
	}
	return func(from, to string) flow.Route {
		a, known := g.Platform.FindCluster(from)
		b, both := g.Platform.FindCluster(to)
		if known && both {
			if r, ok := g.Platform.FindRoute(platform.FrontEndOf(a), platform.FrontEndOf(b)); ok && r.Mbps > 0 {
				return flow.Route{Latency: r.Ms / 1e3, PerByte: 8 / (r.Mbps * 1e6)}
			}
		}
		return flowrun.Unknown
	}, nil
}

// runnableFlow is a workflow that can be run.
func (a *app) runnableFlow(file string, burn float64) (*flowfile.Flow, error) {
	if isYAML(file) {
		if burn > 0 {
			return nil, &badinput.Error{Field: "--burn", Want: "a workflow in WfFormat, which says how long its tasks took"}
		}
		return flowfile.Load(file, a.fileOptions())
	}
	w, err := loadWfFormat(file)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	f := &flowfile.Flow{Name: flowName(file), Dir: dir, Kinds: w.kinds}
	made := map[string]bool{}
	for _, t := range w.wf.Tasks {
		for _, out := range t.Writes {
			made[out] = true
		}
	}
	for i, t := range w.wf.Tasks {
		job := &jobfile.Job{Argv: t.Command, Min: 1, Max: 1, Memory: t.Memory, Retries: jobfile.DefaultRetries,
			Checkpoint: jobfile.Checkpoint{Method: "restart"}}
		task := flowfile.Task{ID: cleanID(t.ID, i), Kind: w.dag.Tasks[i].Kind, Job: job, Estimate: time.Duration(t.Seconds * float64(time.Second))}
		if burn > 0 {
			task.Estimate = time.Duration(burn * float64(task.Estimate))
			job.Argv, job.Memory = burnCommand(burn*t.Seconds), 0
		} else if err := assignFiles(file, dir, &task, t.Command, t.Reads, t.Writes, made); err != nil {
			return nil, err
		}
		f.Tasks = append(f.Tasks, task)
	}
	for _, n := range w.wf.Needs {
		if burn > 0 {
			n.Bytes, n.Files = dag.NoFile, 0
		}
		f.Needs = append(f.Needs, n)
	}
	return f, nil
}

// assignFiles gives a recorded task its files, and says what is missing.
func assignFiles(file, dir string, t *flowfile.Task, command, reads, writes []string, made map[string]bool) error {
	wrong := func(field, value, want string) error {
		return &badinput.Error{File: file, Field: "task " + strconv.Quote(t.ID) + " " + field, Value: value, Want: want + "; --burn 0.01 runs it without programs"}
	}
	if len(command) == 0 {
		return wrong("command", "", "a program; the file does not say which")
	}
	for _, in := range reads {
		if !filepath.IsLocal(in) {
			return wrong("inputFiles", in, "a file within the folder of the workflow")
		}
		if _, err := os.Stat(filepath.Join(dir, in)); err != nil && !made[in] {
			return wrong("inputFiles", in, "a file that a task makes, or that is in "+dir+"; there is none")
		}
		t.Inputs = append(t.Inputs, filepath.ToSlash(filepath.Clean(in)))
	}
	for _, out := range writes {
		if !filepath.IsLocal(out) {
			return wrong("outputFiles", out, "a file within the folder of the workflow")
		}
		t.Outputs = append(t.Outputs, flowfile.Output{Name: filepath.ToSlash(filepath.Clean(out))})
	}
	return nil
}

// burnCommand keeps a processor busy until it has used so many seconds of it.
func burnCommand(seconds float64) []string {
	const program = "import sys, time\nend = time.process_time() + float(sys.argv[1])\nwhile time.process_time() < end: pass"
	return []string{"python3", "-c", program, strconv.FormatFloat(seconds, 'f', 3, 64)}
}

// flowName is what a workflow is called whose file does not say.
func flowName(file string) string {
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".gz"), ".json")
	return cleanID(name, 0)
}

// cleanID is an id that can be part of a job's name.
func cleanID(id string, number int) string {
	text := strings.Map(func(c rune) rune {
		if c < 0x80 && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._-", c)) {
			return c
		}
		return '-'
	}, id)
	if text != id || len(text) > 80 {
		text = fmt.Sprintf("%s.%d", text[:min(len(text), 80)], number)
	}
	return text
}

// sendFiles brings files of a folder into the broker's depot.
func (a *app) sendFiles(ctx context.Context, c *api.Client, dir string, names []string) (string, error) {
	staged, err := newSendFolder(dir)
	if err != nil {
		return "", err
	}
	defer staged.removeFolder()
	for _, name := range names {
		to := filepath.Join(staged.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return "", err
		}
		if err := linkTree(filepath.Join(dir, filepath.FromSlash(name)), to); err != nil {
			if os.IsNotExist(err) {
				return "", &badinput.Error{Field: "inputs", Value: name, Want: "a file that is in " + dir + "; it is gone"}
			}
			return "", err
		}
	}
	limit, err := workLimit(ctx, c)
	if err != nil {
		return "", err
	}
	id, _, _, err := depot.PushFolder(ctx, staged.dir, depot.NewClient(c.HTTP, api.Base+"/v1/depot"), depot.PushOptions{Limit: limit})
	return string(id), err
}

// inheritedVariables is the variables that every task gets: programs are looked for, and
// text is read and written, as at the caller's.
func inheritedVariables() map[string]string {
	env := map[string]string{}
	for _, name := range []string{"PATH", "HOME", "LANG", "LC_ALL", "USER", "LD_LIBRARY_PATH", "PYTHONPATH"} {
		if value, ok := os.LookupEnv(name); ok {
			env[name] = value
		}
	}
	return env
}

// flowBook is what is kept of the runs of one file, in the user's state folder. All
// else is in the broker's store.
type flowBook struct {
	ID    string    `json:"id"`
	File  string    `json:"file"`
	Sum   string    `json:"sum"` // of what the file said when the run was begun
	Began time.Time `json:"began"`
	Over  bool      `json:"over"` // all went well

	path  string
	lock  *os.File
	again bool
}

// openFlowBook finds the run of a file that is not done, or begins one. Two at a time
// of the same file would be in each other's way.
func (a *app) openFlowBook(file string, f *flowRunFlags) (*flowBook, error) {
	full, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(full)
	if err != nil {
		return nil, err
	}
	state, err := api.StateDir()
	if err != nil {
		return nil, err
	}
	sum := func(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:12]) }
	content := sum(append(data, fmt.Sprintf(" burn %v", f.burn)...))
	book := &flowBook{path: filepath.Join(state, "flows", sum([]byte(full))+".json")}
	if err := os.MkdirAll(filepath.Dir(book.path), 0o700); err != nil {
		return nil, err
	}
	if book.lock, err = lockFile(book.path + ".lock"); err != nil {
		return nil, &badinput.Error{File: file, Problem: "another godwit flow run is running this workflow", Err: err}
	}
	if old, err := os.ReadFile(book.path); err == nil && json.Unmarshal(old, book) == nil && book.ID != "" {
		switch {
		case book.Over || f.fresh:
		case book.Sum != content:
			a.SayLine("the run of " + book.Began.Format("2006-01-02 15:04:05") + " is not done, but " + file + " has changed since: beginning anew")
		default:
			book.again = true
			a.SayLine("resuming the run of " + book.Began.Format("2006-01-02 15:04:05") + " (--fresh starts from the beginning)")
			return book, nil
		}
	}
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	book.ID, book.File, book.Sum, book.Began, book.Over = hex.EncodeToString(id[:]), full, content, a.Now(), false
	return book, book.writeBook()
}

func (b *flowBook) writeBook() error {
	data, err := json.Marshal(b)
	if err != nil {
		return err
	}
	f, err := outfile.Create(b.path)
	if err != nil {
		return err
	}
	defer f.Discard()
	return commitFile(f, data)
}

// recordDone keeps that a run is over.
func (b *flowBook) recordDone(s *flowrun.State) error {
	if s.Count.Done < len(s.Tasks) {
		return nil // what failed may be tried again
	}
	b.Over = true
	return b.writeBook()
}

func (b *flowBook) closeBook() { _ = b.lock.Close() } // and with it the lock
