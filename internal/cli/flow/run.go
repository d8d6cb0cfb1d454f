package flow

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/connect"
	"github.com/godwit-hpc/godwit/internal/cli/sendfolder"
	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/flowfile"
	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

const flowRunLong = `Submits a workflow to the broker and follows it to its end. Every task is a job,
submitted when the tasks before it are done and the plan says so, to the cluster
that it says. A task finds in its folder the files that its inputs name, and what
its outputs name comes back to the folder of the workflow. What has not started is
planned again when reality departs from the plan; finished tasks correct the
estimates of those of their kind.

The broker carries the workflow out: if this command is killed it goes on, and if
the broker is, it goes on when it is started again. Run the command again to follow
it (or godwit flow attach). A workflow that failed or was cancelled goes on where it
was: what went well is not run twice, what failed is tried again. --fresh begins
anew.

When a task fails for good, what waits for it is given up and the others run to
their end; with --stop nothing more is started. Ctrl-C cancels the workflow; a
second Ctrl-C quits without waiting.

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

// howGroup is the flags of run and of submit.
func (f *flowRunFlags) howGroup() term.Group {
	how := term.NewGroup("How")
	how.Flags.StringVar(&f.platform, "platform", "",
		"plan transfers between clusters by the links of the platform in `FILE`, which names them as the broker does")
	how.Flags.BoolVar(&f.fresh, "fresh", false, "begin anew, although an earlier run of the file failed or was cancelled")
	how.Flags.BoolVar(&f.stop, "stop", false, "start nothing more once a task has failed")
	how.Flags.Var(term.NumberFlag(&f.burn, 0, 1000), "burn",
		"of WfFormat: run no programs, but burn this part of the recorded time of each task on a core")
	return how
}

func (a *app) flowRunCommand() *cobra.Command {
	f := &flowRunFlags{}
	cmd := &cobra.Command{
		Use:     "run WORKFLOW",
		Short:   "Run a workflow, each task as a job, and follow it",
		Long:    flowRunLong,
		Example: flowRunExample,
		Args:    func(cmd *cobra.Command, args []string) error { return term.OneArgument(cmd, args, "a workflow file") },
		RunE:    func(cmd *cobra.Command, args []string) error { return a.flowRun(cmd.Context(), args[0], f) },
	}
	out := term.NewGroup("Output")
	term.OutputFlag(out.Flags, &f.output)
	out.Flags.StringVar(&f.gantt, "gantt", "", "draw what ran where to `FILE` as SVG, its values beside it as CSV")
	term.GroupFlags(cmd, f.howGroup(), out)
	return cmd
}

func (a *app) flowSubmitCommand() *cobra.Command {
	f := &flowRunFlags{}
	cmd := &cobra.Command{
		Use:   "submit WORKFLOW",
		Short: "Submit a workflow and print its number",
		Long: `Submits a workflow to the broker and returns at once; the broker carries it out as
godwit flow run describes. Files that no task makes are sent along now, as they are.
One of this file that is not over is not submitted a second time: its number is
printed.`,
		Example: `  godwit flow submit examples/flows/wordcount.yaml
  godwit flow attach last`,
		Args: func(cmd *cobra.Command, args []string) error { return term.OneArgument(cmd, args, "a workflow file") },
		RunE: func(cmd *cobra.Command, args []string) error {
			id, _, err := a.submitFlow(cmd.Context(), args[0], f)
			if err != nil {
				return err
			}
			if f.output == "json" {
				return term.WriteJSON(a.Stdout, api.FlowSubmitted{ID: id})
			}
			_, err = fmt.Fprintln(a.Stdout, id)
			return err
		},
	}
	term.GroupFlags(cmd, f.howGroup(), term.OutputGroup(&f.output))
	return cmd
}

func (a *app) flowRun(ctx context.Context, file string, f *flowRunFlags) error {
	var out planFiles
	defer out.discardFiles()
	if err := out.openFiles(&flowFlags{gantt: f.gantt}); err != nil {
		return err
	}
	id, book, err := a.submitFlow(ctx, file, f)
	if err != nil {
		return err
	}
	end, err := a.followFlow(ctx, id, a.newFlowView(f.output == "json", true), true)
	if err != nil {
		return err
	}
	if end.State == "completed" {
		if err := book.recordDone(); err != nil {
			return err
		}
	}
	tasks, err := a.flowTasks(context.WithoutCancel(ctx), id)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		a.SayLine("flow " + end.Name + " was cancelled; run it again to go on")
		return term.ExitCode(term.ExitInterrupted)
	}
	if f.gantt != "" {
		if err := out.writeRan(end, tasks); err != nil {
			return err
		}
		a.SayChart(f.gantt)
	}
	return a.flowEnd(end, tasks, f.output)
}

// flowTasks is what became of the tasks of a workflow.
func (a *app) flowTasks(ctx context.Context, id int64) ([]api.FlowTask, error) {
	var tasks []api.FlowTask
	err := a.AskUntilAnswered(ctx, func(c *api.Client) (err error) {
		tasks, err = c.ListFlowTasks(ctx, fmt.Sprint(id))
		return err
	})
	return tasks, err
}

// submitFlow hands in the workflow of a file, or finds the one that is not over.
func (a *app) submitFlow(ctx context.Context, file string, f *flowRunFlags) (int64, *flowBook, error) {
	work, err := a.runnableFlow(file, f.burn)
	if err != nil {
		return 0, nil, err
	}
	platform, err := loadPlatform(f.platform)
	if err != nil {
		return 0, nil, err
	}
	book, err := a.openFlowBook(file, f.burn)
	if err != nil {
		return 0, nil, err
	}
	defer book.closeBook()
	c, err := a.ConnectBroker(ctx)
	if err != nil {
		return 0, nil, err
	}
	defer c.Close()
	live, err := a.chooseRun(ctx, c, file, book, f.fresh)
	if err != nil || live != 0 {
		return live, book, err
	}
	spec := &api.FlowSubmit{Key: book.ID, Flow: *work, Env: inheritedVariables(), StopAll: f.stop, Resume: book.again}
	spec.KeepMoments()
	if platform != nil {
		if spec.Routes, err = clusterRoutes(ctx, c, platform); err != nil {
			return 0, nil, err
		}
	}
	send, absent := filesOf(work, book.again)
	spec.Absent = absent
	if spec.Work, err = a.sendFiles(ctx, c, work.Dir, send); err != nil {
		return 0, nil, err
	}
	id, err := a.submitFlowOnce(ctx, c, spec)
	return id, book, err
}

// submitFlowOnce hands in a workflow. If the broker goes away before it has answered it is
// submitted again with the same key, of which there is one workflow at most.
func (a *app) submitFlowOnce(ctx context.Context, c *api.Client, spec *api.FlowSubmit) (int64, error) {
	begin := a.Now()
	for {
		done, err := c.SubmitFlow(ctx, spec)
		if connect.WasAnswered(err) || ctx.Err() != nil || a.Now.Since(begin) > connect.StartTimeout {
			return done.ID, err
		}
		clock.SleepContext(ctx, connect.RetryPause)
		if again, err := a.ConnectBroker(ctx); err == nil { // it starts a broker where there is none
			again.Close()
		}
	}
}

// filesOf is the files that a workflow needs and its tasks do not make, and, for one that is
// to go on, what its tasks made before and what is gone of that.
func filesOf(f *flowfile.Flow, again bool) (send, absent []string) {
	made := map[string]bool{}
	for i := range f.Tasks {
		for _, out := range f.Tasks[i].Outputs {
			made[out.Name] = true
			if _, err := os.Lstat(filepath.Join(f.Dir, out.Name)); again && err != nil {
				absent = append(absent, out.Name)
			}
		}
	}
	seen := map[string]bool{}
	for i := range f.Tasks {
		for _, in := range f.Tasks[i].Inputs {
			if seen[in] {
				continue
			}
			seen[in] = true
			if isMade(made, in) {
				if _, err := os.Lstat(filepath.Join(f.Dir, in)); !again || err != nil {
					continue
				}
			}
			send = append(send, in)
		}
	}
	slices.Sort(send)
	return send, absent
}

// isMade tells whether a file is an output of a task, or in a folder that is.
func isMade(made map[string]bool, name string) bool {
	for ; name != "." && name != "/"; name = filepath.Dir(name) {
		if made[name] {
			return true
		}
	}
	return false
}

// sendFiles brings files of a folder into the broker's depot; "" if there are none.
func (a *app) sendFiles(ctx context.Context, c *api.Client, dir string, names []string) (string, error) {
	if len(names) == 0 {
		return "", nil
	}
	staged, err := sendfolder.NewFolder(dir)
	if err != nil {
		return "", err
	}
	defer staged.RemoveFolder()
	for _, name := range names {
		to := filepath.Join(staged.Dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return "", err
		}
		if _, err := os.Lstat(to); err == nil {
			continue // in a folder that is an input itself
		}
		if err := sendfolder.LinkTree(filepath.Join(dir, filepath.FromSlash(name)), to); err != nil {
			if os.IsNotExist(err) {
				return "", &badinput.Error{Field: "inputs", Value: name, Want: "a file that is in " + dir + "; it is gone"}
			}
			return "", err
		}
	}
	id, _, _, err := depot.PushFolder(ctx, staged.Dir, depot.NewClient(c.HTTP, api.Base+"/v1/depot"), depot.PushOptions{})
	return string(id), err
}

// loadPlatform reads a platform; nil if there is no file.
func loadPlatform(file string) (*platform.Platform, error) {
	if file == "" {
		return nil, nil
	}
	g, _, err := loadGrid(file)
	if err != nil {
		return nil, err
	}
	return g.Platform, nil
}

// clusterRoutes are the ways between the broker's clusters that a platform describes. Of
// clusters that it does not name nothing is known.
func clusterRoutes(ctx context.Context, c *api.Client, p *platform.Platform) ([]api.FlowRoute, error) {
	clusters, err := c.ListClusters(ctx)
	if err != nil {
		return nil, err
	}
	var routes []api.FlowRoute
	for _, from := range clusters {
		for _, to := range clusters {
			a, known := p.FindCluster(from.Name)
			b, both := p.FindCluster(to.Name)
			if !known || !both {
				continue
			}
			if r, ok := p.FindRoute(platform.FrontEndOf(a), platform.FrontEndOf(b)); ok && r.Mbps > 0 {
				routes = append(routes, api.FlowRoute{From: from.Name, To: to.Name, LatencyS: r.Ms / 1e3,
					PerByteS: 8 / (r.Mbps * 1e6)})
			}
		}
	}
	return routes, nil
}

// completeFlows offers the numbers of the workflows there are, if a broker runs.
func (a *app) completeFlows(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	c := connect.RunningBroker()
	if c == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer c.Close()
	flows, err := c.ListFlows(cmd.Context(), false, false)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var list []string
	for i := range flows {
		list = append(list, fmt.Sprintf("%d\t%s", flows[i].ID, strings.TrimSpace(flows[i].Name+" "+flows[i].State)))
	}
	return append(list, "last\tthe workflow submitted last"), cobra.ShellCompDirectiveNoFileComp
}
