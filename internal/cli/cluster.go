package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/driver/local"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/live/config"
)

func (a *app) clusterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Add, check and remove clusters of the settings",
		Long: `Edits the list of clusters in the settings, and checks whether they can be used.
Comments in the file stay. A broker that runs takes changes over with godwit reload.`,
		Example: `  godwit cluster add leeds --driver slurm --host alice@login.leeds.example \
      --partition short
  godwit cluster check leeds
  godwit cluster remove leeds`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.clusterAddCommand(), a.clusterCheckCommand(), a.clusterRemoveCommand())
	return cmd
}

// clusterFlags is what is said of a cluster on the command line.
type clusterFlags struct {
	config, driver, dir, partition, pe, account, commands string
	hosts                                                 []string
	slots                                                 int
	dryRun                                                bool
}

func (a *app) clusterAddCommand() *cobra.Command {
	f := &clusterFlags{}
	cmd := &cobra.Command{
		Use:   "add NAME [--driver DRIVER] [--host USER@HOST]…",
		Short: "Add a cluster to the settings",
		Long: `Adds a cluster to the settings. Several --host are one cluster of machines without
a batch system. godwit cluster check says whether it works.`,
		Example: `  godwit cluster add leeds --driver slurm --host alice@login.leeds.example
  godwit cluster add desks --host alice@desk1 --host alice@desk2 --slots 4`,
		Args: func(cmd *cobra.Command, args []string) error {
			return term.OneArgument(cmd, args, "the name of a cluster")
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.addCluster(cmd.Context(), args[0], f) },
	}
	g := term.NewGroup("Cluster")
	g.Flags.Var(term.ChoiceFlag(&f.driver, config.Local, config.Slurm, config.GridEngine), "driver",
		"what runs jobs there")
	g.Flags.StringArrayVar(&f.hosts, "host", nil, "`USER@HOST` as ssh takes it; without one it is on this machine")
	g.Flags.StringVar(&f.dir, "dir", "", "`FOLDER` there for Godwit's files, which all its hosts see")
	g.Flags.StringVar(&f.partition, "partition", "", "`NAME` of the partition of Slurm, or queue of Grid Engine")
	g.Flags.StringVar(&f.account, "account", "",
		"`NAME` of the account that jobs are charged to (Slurm), or project (Grid Engine)")
	g.Flags.StringVar(&f.pe, "pe", "", "`NAME` of the parallel environment of Grid Engine")
	g.Flags.StringVar(&f.commands, "commands", "", "`FOLDER` of the batch system's commands, if PATH does not name it")
	g.Flags.IntVar(&f.slots, "slots", 0, "offer `N` cores, on each host if there are several")
	settingsFlags(g, f)
	term.GroupFlags(cmd, g)
	return cmd
}

func settingsFlags(g term.Group, f *clusterFlags) {
	g.Flags.StringVar(&f.config, "config", "", "edit `FILE`, rather than that of GODWIT_CONFIG or the XDG folder")
	g.Flags.BoolVar(&f.dryRun, "dry-run", false, "print the settings and change nothing")
}

// settingsFile is where the settings stand, and what they say; nothing if there is
// no file yet.
func settingsFile(flag string) (string, []byte, error) {
	path, _ := config.FindFile(flag, os.Getenv)
	if path == "" {
		return "", nil, &badinput.Error{Field: "HOME", Want: "a home folder, or --config FILE"}
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil, nil
	}
	return path, text, err
}

func (a *app) addCluster(ctx context.Context, name string, f *clusterFlags) error {
	path, text, err := settingsFile(f.config)
	if err != nil {
		return err
	}
	if text == nil { // with a file, this machine is a cluster only if the file says so
		text = []byte("clusters:\n  - name: local # this machine\n")
	}
	fields := []config.Field{{Key: "name", Value: name}}
	add := func(key, value string) {
		if value != "" {
			fields = append(fields, config.Field{Key: key, Value: value})
		}
	}
	if f.driver != config.Local {
		add("driver", f.driver)
	}
	switch len(f.hosts) {
	case 0:
	case 1:
		add("ssh", f.hosts[0])
	default:
		add("ssh", "["+strings.Join(f.hosts, ", ")+"]")
	}
	add("dir", f.dir)
	add("partition", f.partition)
	add("pe", f.pe)
	add("commands", f.commands)
	if f.slots > 0 {
		add("slots", fmt.Sprint(f.slots))
	}
	if f.account != "" {
		option := "[--account=" + f.account + "]"
		if f.driver == config.GridEngine {
			option = "[-P, " + f.account + "]"
		}
		add("options", option)
	}
	next, err := config.AddCluster(path, text, fields)
	if err != nil {
		return err
	}
	return a.writeSettings(ctx, path, next, f.dryRun, "cluster "+name+" added to "+path+" (godwit cluster check "+name+")")
}

// writeSettings puts settings in place, and says what to do next.
func (a *app) writeSettings(ctx context.Context, path string, text []byte, dryRun bool, done string) error {
	cpus, err := local.UsableCPUs()
	if err != nil {
		return err
	}
	if dryRun {
		if _, err := config.ReadSettings(path, text, cpus); err != nil {
			return err
		}
		_, err := a.Stdout.Write(text)
		return err
	}
	if err := config.WriteSettings(path, text, cpus); err != nil {
		return err
	}
	a.SayLine(done)
	if c, err := a.findRunning(ctx); err == nil {
		defer c.Close()
		a.warnStale(ctx, c)
	}
	return nil
}

func (a *app) clusterRemoveCommand() *cobra.Command {
	f := &clusterFlags{}
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a cluster from the settings",
		Long: `Removes a cluster from the settings. After godwit reload no job is sent there any
more; jobs that run there run to their end.`,
		Example: "  godwit cluster remove leeds\n  godwit reload",
		Args: func(cmd *cobra.Command, args []string) error {
			return term.OneArgument(cmd, args, "the name of a cluster")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			path, text, err := settingsFile(f.config)
			if err != nil {
				return err
			}
			if text == nil {
				return &badinput.Error{Field: "cluster", Value: args[0], Problem: "no such cluster: there is no settings file " +
					path}
			}
			next, err := config.RemoveCluster(path, text, args[0])
			if err != nil {
				return err
			}
			return a.writeSettings(cmd.Context(), path, next, f.dryRun, "cluster "+args[0]+" removed from "+path)
		},
	}
	g := term.NewGroup("Settings")
	settingsFlags(g, f)
	term.GroupFlags(cmd, g)
	return cmd
}

func (a *app) clusterCheckCommand() *cobra.Command {
	var output, file string
	cmd := &cobra.Command{
		Use:   "check [NAME]…",
		Short: "Check whether clusters can be used, and say what would fix them",
		Long: `Asks clusters of the settings, over SSH where they are elsewhere: can they be
reached, may Godwit write there, do the batch system's commands work, are partition
and account right, can programs be saved in a sandbox. It changes nothing there.

Exit code 1 if something is missing without which jobs cannot run.`,
		Example: `  godwit cluster check
  godwit cluster check leeds -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.checkClusters(cmd.Context(), file, output, args)
		},
	}
	g := term.NewGroup("Settings")
	g.Flags.StringVar(&file, "config", "", "read settings from `FILE`, rather than from GODWIT_CONFIG or the XDG folder")
	term.GroupFlags(cmd, g, term.OutputGroup(&output))
	return cmd
}

func (a *app) checkClusters(ctx context.Context, file, output string, names []string) error {
	cpus, err := local.UsableCPUs()
	if err != nil {
		return err
	}
	cfg, err := config.LoadSettings(file, os.Getenv, cpus)
	if err != nil {
		return err
	}
	var known []string
	for i := range cfg.Clusters {
		known = append(known, cfg.Clusters[i].Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return &badinput.Error{Field: "cluster", Value: name, Want: badinput.UnknownName("cluster", name, known)}
		}
	}
	failed := false
	checks := map[string][]finding{}
	for i := range cfg.Clusters {
		c := &cfg.Clusters[i]
		if len(names) > 0 && !slices.Contains(names, c.Name) {
			continue
		}
		found := checkCluster(ctx, c)
		checks[c.Name] = found
		failed = failed || slices.ContainsFunc(found, func(f finding) bool { return f.Needed && !f.OK })
		if output != "json" {
			if _, err := fmt.Fprintf(a.Stdout, "%s\n", c.Name); err != nil {
				return err
			}
			if err := a.printFindings(found); err != nil {
				return err
			}
		}
	}
	if output == "json" {
		if err := term.WriteJSON(a.Stdout, checks); err != nil {
			return err
		}
	}
	if failed {
		return term.ExitCode(term.ExitFailed)
	}
	return nil
}
