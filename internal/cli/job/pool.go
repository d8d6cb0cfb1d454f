package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/connect"
	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/poolwork"
)

const poolLong = `Runs a command for each line of standard input, on as many workers as are free, and
prints what each wrote. A worker is a job: it asks the broker for lines, some at a
time, and runs the command for one after the other. Workers come while lines wait
and cores are free on any cluster, at least MIN and at most MAX of them, and leave
when nothing is left. Any program will do: {} in an argument is replaced by the
line; without one the line is the last argument. It is in $GODWIT_ITEM too. Empty
lines are skipped.

Every line is counted exactly once. What a worker held that was lost is given to
others, so that a command may be run again that had not been counted: it should be
one that may run twice. The pool is the broker's: it goes on when the broker was
killed, and when this command was (godwit pool attach, ps and cancel).

The output of each line appears whole, as it comes or, with --keep-order, in the
order of the lines; of one line at most 1 MiB is kept. The working directory is
sent along; files that the command writes there do not come back, so write results
to standard output, or to a folder that all clusters see.

Ctrl-C cancels the pool and its workers; a second Ctrl-C quits without waiting.

Exit codes: 0 all lines succeeded; 1 some failed, which are named, or the pool did;
2 bad input; 130 cancelled with Ctrl-C.`

const poolExample = `  seq 100000 | godwit pool --workers 1..8 -- ./examples/jobs/item
  ls *.wav | godwit pool --workers 2..40 -- sh -c 'sox {} -n stat 2>&1'
  godwit pool --file seeds.txt --keep-order --on leeds -- ./simulate --seed {}

  # Nobody need stay: the broker carries it out
  godwit pool --detach --file seeds.txt -- ./simulate --seed {}
  godwit pool attach last`

// workerSpan is how many workers a pool may have.
type workerSpan struct{ min, max int }

const maxPoolWorkers = 1000

func parseWorkers(text string) (workerSpan, error) {
	low, high, isSpan := strings.Cut(text, "..")
	if !isSpan {
		high = low
	}
	least, err := strconv.Atoi(low)
	most, err2 := strconv.Atoi(high)
	if err != nil || err2 != nil || least < 1 || most < least || most > maxPoolWorkers {
		return workerSpan{}, fmt.Errorf("MIN..MAX, such as 1..8, from 1 to %d", maxPoolWorkers)
	}
	return workerSpan{least, most}, nil
}

type poolFlags struct {
	job     jobFlags
	workers workerSpan
	file    string
	ordered bool
	detach  bool
	output  string
}

// poolJobFlags are the flags of a job that make sense for a worker.
var poolJobFlags = []string{"on", "procs", "memory", "env", "export", "workdir", "input", "setup", "name", "grace"}

func (a *app) poolCommand() *cobra.Command {
	f := &poolFlags{workers: workerSpan{1, 8}}
	cmd := &cobra.Command{
		Use:     "pool [flags] -- COMMAND ARGUMENTS…",
		Short:   "Run a command for each line of input, on workers that come and go",
		Long:    poolLong,
		Example: poolExample,

		DisableFlagsInUseLine: true,
		Annotations:           map[string]string{term.OwnArguments: "a command"},
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || cmd.ArgsLenAtDash() != 0 { // else it may be a mistyped subcommand
				return &badinput.Error{Field: cmd.CommandPath(),
					Want: "a command after --, such as: seq 100 | godwit pool --workers 1..8 -- ./program"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.runPool(cmd.Context(), f, args) },
	}
	how := term.NewGroup("The pool")
	how.Flags.VarP(term.CheckedFlag(&f.workers, "MIN..MAX", func(w workerSpan) string {
		return fmt.Sprintf("%d..%d", w.min, w.max)
	}, parseWorkers), "workers", "w", "how many workers there may be at a time, such as 1..8")
	how.Flags.StringVarP(&f.file, "file", "f", "", "read lines from `FILE` rather than from standard input")
	how.Flags.BoolVarP(&f.ordered, "keep-order", "k", false, "print in the order of the lines")
	how.Flags.BoolVarP(&f.detach, "detach", "d", false, "print the pool's number and return at once")
	needs := f.job.namedGroup("What a worker needs", poolJobFlags)
	out := term.OutputGroup(&f.output)
	term.GroupFlags(cmd, how, needs, out)
	stopAtCommand(cmd.Flags())
	term.CompleteFlag(cmd, "on", a.CompleteClusters)
	cmd.AddCommand(a.poolPsCommand(), a.poolAttachCommand(), a.poolCancelCommand())
	return cmd
}

func (a *app) runPool(ctx context.Context, f *poolFlags, args []string) error {
	o, err := a.jobOptions(&f.job)
	if err != nil {
		return err
	}
	job, warnings, err := jobfile.FromCommand(args, o)
	a.sayWarnings(warnings)
	if err != nil {
		return err
	}
	text, err := a.readItems(ctx, f.file)
	if err != nil {
		return err
	}
	c, err := a.ConnectBroker(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	work, err := a.sendWork(ctx, c, job)
	if err != nil {
		return err
	}
	done, err := a.submitPoolOnce(ctx, c, &api.PoolSubmit{Key: newKey(), Items: text, Job: *job, Work: work,
		Min: f.workers.min, Max: f.workers.max})
	if err != nil {
		return err
	}
	if f.detach {
		if f.output == "json" {
			return term.WriteJSON(a.Stdout, done)
		}
		_, err := fmt.Fprintln(a.Stdout, done.ID)
		return err
	}
	v := a.newPoolView(f.output == "json", f.ordered)
	return a.followPool(ctx, done.ID, v, true)
}

// readItems reads the lines of a file, or of standard input.
func (a *app) readItems(ctx context.Context, file string) ([]byte, error) {
	in := a.Stdin
	if file != "" && file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, &badinput.Error{Field: "--file", Value: file, Want: "a file with one item a line", Err: err}
		}
		defer func() { _ = f.Close() }() // only read
		in = f
	}
	if f, ok := in.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&fs.ModeCharDevice != 0 && file == "" {
			return nil, &badinput.Error{Field: "standard input", Problem: "it is a terminal",
				Want: "items, one a line: seq 100 | godwit pool …, or --file FILE"}
		}
	}
	type result struct {
		text []byte
		err  error
	}
	read := make(chan result, 1)
	go func() { // a read of a pipe that nobody writes to cannot be ended
		text, err := io.ReadAll(io.LimitReader(in, poolwork.MaxText+1))
		read <- result{text, err}
	}()
	select {
	case <-ctx.Done():
		return nil, term.ExitCode(term.ExitInterrupted)
	case r := <-read:
		switch {
		case r.err != nil:
			return nil, fmt.Errorf("reading the items: %w", r.err)
		case len(r.text) > poolwork.MaxText:
			return nil, &badinput.Error{Field: "items",
				Want: fmt.Sprintf("at most %d MiB of text in one pool; split them into several pools", poolwork.MaxText>>20)}
		case len(poolwork.SplitItems(r.text)) == 0:
			return nil, &badinput.Error{Field: "items", Want: "at least one line that is not empty"}
		}
		return r.text, nil
	}
}

// submitPoolOnce hands in a pool. If the broker goes away before it has answered it is submitted
// again with the same key, of which there is one pool at most.
func (a *app) submitPoolOnce(ctx context.Context, c *api.Client, spec *api.PoolSubmit) (api.PoolSubmitted, error) {
	begin := a.Now()
	for {
		done, err := c.SubmitPool(ctx, spec)
		if connect.WasAnswered(err) || ctx.Err() != nil || a.Now.Since(begin) > connect.StartTimeout {
			return done, err
		}
		clock.SleepContext(ctx, connect.RetryPause)
		if again, err := a.ConnectBroker(ctx); err == nil { // it starts a broker where there is none
			again.Close()
		}
	}
}

// poolsHelp is the part of the help of commands that take pools.
const poolsHelp = `

A pool is named by its number, or last.`

func (a *app) poolPsCommand() *cobra.Command {
	var output string
	var all bool
	cmd := &cobra.Command{
		Use:     "ps",
		Aliases: []string{"list", "ls"},
		Short:   "List the pools",
		Long: `Lists the pools that are not over and those that ended last; with --all every pool.
The workers of a pool are jobs, and in godwit ps.`,
		Example: `  godwit pool ps
  godwit pool ps --all -o json`,
		Args: term.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.AskBroker(cmd.Context(), func(c *api.Client) error {
				pools, err := c.ListPools(cmd.Context(), all)
				if err != nil {
					return err
				}
				if output == "json" {
					return term.WriteJSON(a.Stdout, term.OrEmpty(pools))
				}
				return a.printPools(pools)
			})
		},
	}
	g := term.OutputGroup(&output)
	g.Flags.BoolVarP(&all, "all", "a", false, "also those that ended long ago")
	term.GroupFlags(cmd, g)
	return cmd
}

func (a *app) printPools(pools []api.Pool) error {
	if len(pools) == 0 {
		a.SayLine("no pools; godwit help pool says how to begin one")
		return nil
	}
	t := term.NewTable("pool", "name", "state", "items", "done", "failed", "workers", "items/s", "submitted",
		"ends").AlignRight(0, 3, 4, 5, 6, 7)
	t.Sparse, t.Shrinks, t.Optional = true, 1, []string{"submitted", "ends"}
	if a.UsesColour() {
		t.Paint = term.PaintStates
	}
	for i := range pools {
		p := &pools[i]
		ends := p.PredictedEnd
		if p.Ended != nil {
			ends = p.Ended
		}
		t.AddRow(fmt.Sprint(p.ID), p.Name, p.State, fmt.Sprint(p.Items), fmt.Sprint(p.Done), fmt.Sprint(p.Failed),
			fmt.Sprint(p.Workers), term.FormatDigits(p.ItemsPerS), a.MomentText(p.Submitted), a.MomentText(ends))
		t.AddNote(term.OneLine(p.Why))
	}
	return t.PrintTable(a.Stdout, a.TerminalWidth())
}

func (a *app) poolAttachCommand() *cobra.Command {
	f := &poolFlags{}
	cmd := &cobra.Command{
		Use:   "attach POOL",
		Short: "Follow a pool to its end",
		Long: `Follows a pool that was submitted as godwit pool does, from its first outcome on, and
exits as that does. Ctrl-C ends the following; the pool goes on.` + poolsHelp,
		Example: `  godwit pool attach 3
  godwit pool attach last --keep-order > results.txt`,
		Args: func(cmd *cobra.Command, args []string) error { return term.OneArgument(cmd, args, "a pool") },
		RunE: func(cmd *cobra.Command, args []string) error {
			var pool api.Pool
			err := a.AskUntilAnswered(cmd.Context(), func(c *api.Client) (err error) {
				pool, err = c.GetPool(cmd.Context(), args[0])
				return err
			})
			if err != nil {
				return err
			}
			return a.followPool(cmd.Context(), pool.ID, a.newPoolView(f.output == "json", f.ordered), false)
		},
	}
	g := term.OutputGroup(&f.output)
	g.Flags.BoolVarP(&f.ordered, "keep-order", "k", false, "print in the order of the lines")
	term.GroupFlags(cmd, g)
	return cmd
}

func (a *app) poolCancelCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "cancel POOL",
		Short:   "Cancel a pool and its workers",
		Long:    `Ends a pool: its workers are cancelled, and what was counted stays counted.` + poolsHelp,
		Example: `  godwit pool cancel 3`,
		Args:    func(cmd *cobra.Command, args []string) error { return term.OneArgument(cmd, args, "a pool") },
		RunE: func(cmd *cobra.Command, args []string) error {
			var pool api.Pool
			err := a.AskUntilAnswered(cmd.Context(), func(c *api.Client) (err error) {
				pool, err = c.CancelPool(cmd.Context(), args[0])
				return err
			})
			switch {
			case err != nil:
				return err
			case output == "json":
				return term.WriteJSON(a.Stdout, pool)
			}
			a.SayLine(fmt.Sprintf("pool %d %s, %d of %d items done", pool.ID, pool.State, pool.Done, pool.Items))
			return nil
		},
	}
	term.GroupFlags(cmd, term.OutputGroup(&output))
	return cmd
}

// errOutputGone says that nobody reads what is printed any more.
var errOutputGone = errors.New("nobody reads the output any more")
