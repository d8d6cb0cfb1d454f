package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/driver/local"
	"github.com/godwit-hpc/godwit/internal/host/calibrate"
	"github.com/godwit-hpc/godwit/internal/live/config"
)

func (a *app) initCommand() *cobra.Command {
	var force bool
	f := &clusterFlags{}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a first settings file from what is found here",
		Long: `Writes a first settings file: this machine as a cluster, Slurm or Grid Engine if
their commands are here, and the hosts of ~/.ssh/config as comments to choose from.
It asks nothing. A file that is there is never overwritten without --force: then the
difference is shown.`,
		Example: `  godwit init
  godwit init --dry-run`,
		Args: term.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.initSettings(cmd.Context(), f, force) },
	}
	g := term.NewGroup("Settings")
	settingsFlags(g, f)
	g.Flags.BoolVar(&force, "force", false, "overwrite settings that are there")
	term.GroupFlags(cmd, g)
	return cmd
}

func (a *app) initSettings(ctx context.Context, f *clusterFlags, force bool) error {
	path, old, err := settingsFile(f.config)
	if err != nil {
		return err
	}
	cpus, err := local.UsableCPUs()
	if err != nil {
		return err
	}
	home, _ := os.UserHomeDir() // without one there is no file of ssh to look at
	text := firstSettings(ctx, len(cpus), calibrate.TotalMemory(), filepath.Join(home, ".ssh", "config"))
	if old != nil && !bytes.Equal(old, text) && !force && !f.dryRun {
		if err := a.showDifference(ctx, path, text); err != nil {
			return err
		}
		return fmt.Errorf("%s is there already; godwit init --force overwrites it", path)
	}
	return a.writeSettings(ctx, path, text, f.dryRun, "settings written to "+path+
		" (godwit cluster check says what works)")
}

// showDifference prints what would change.
func (a *app) showDifference(ctx context.Context, path string, text []byte) error {
	cmd := exec.CommandContext(ctx, "diff", "-u", "--label", path, "--label", path+" (new)", path, "-")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), a.Stdout, a.Stderr
	err := cmd.Run()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == 1 { // they differ
		return nil
	}
	return err
}

// firstSettings is a file of settings for what was found.
func firstSettings(ctx context.Context, cores int, memory int64, sshConfig string) []byte {
	var b strings.Builder
	b.WriteString("# Settings of Godwit, written by godwit init.\n" +
		"# After a change: godwit reload. All fields: docs/guides/clusters.md\n\nclusters:\n")
	fmt.Fprintf(&b, "  - name: local                # this machine: %s", term.PluralNoun(int64(cores), "core"))
	if memory > 0 {
		fmt.Fprintf(&b, ", %.0f GiB of memory", float64(memory)/(1<<30))
	}
	fmt.Fprintf(&b, "\n    cpus: %d                    # leave some to yourself by naming fewer\n", cores)
	for _, m := range []struct{ driver, command, title string }{{config.Slurm, "sinfo", "Slurm"},
		{config.GridEngine, "qhost", "Grid Engine"}} {
		path, err := exec.LookPath(m.command)
		if err != nil {
			continue
		}
		if exec.CommandContext(ctx, path).Run() != nil {
			fmt.Fprintf(&b, "\n  # %s is installed (%s) but does not answer here:\n  # - name: %s\n  #   driver: %s\n", m.title,
				path, m.driver, m.driver)
			continue
		}
		fmt.Fprintf(&b, "\n  - name: %s                # %s answers on this machine\n    driver: %s\n"+
			"    dir: ~/godwit              # a folder that all its hosts see\n    # partition: short\n    # options: "+
			"[--account=project]\n", m.driver, m.title, m.driver)
	}
	if hosts := sshHosts(sshConfig); len(hosts) > 0 {
		b.WriteString("\n  # Hosts of ~/.ssh/config. Take away the # of those that may run your jobs;\n" +
			"  # driver: local (plain processes), slurm or gridengine.\n")
		for _, h := range hosts {
			fmt.Fprintf(&b, "  # - name: %s\n  #   ssh: %s\n  #   driver: local\n", clusterName(h), h)
		}
	}
	b.WriteString("\n# How jobs are placed that do not say: deadline, wf, cf or cm.\npolicy:\n  place: deadline\n")
	return []byte(b.String())
}

// clusterName makes the name of a cluster of that of a host.
func clusterName(host string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '-'
	}, host)
	return strings.TrimLeft(name, ".")
}

// sshHosts lists the hosts that a file of ssh names, without patterns.
func sshHosts(file string) []string {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var hosts []string
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if len(line) < 5 || !strings.EqualFold(line[:4], "Host") || !strings.ContainsRune(" \t=", rune(line[4])) {
			continue
		}
		for _, h := range strings.Fields(strings.TrimLeft(line[4:], " \t=")) {
			if !strings.ContainsAny(h, `*?!"'`) && !strings.HasPrefix(h, "-") && !strings.HasPrefix(h, "#") {
				hosts = append(hosts, h)
			}
		}
	}
	return hosts
}
