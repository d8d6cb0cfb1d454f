package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the most columns that a line of help takes.
const helpWidth = 80

// group is flags that belong together, under a title in the help.
type group struct {
	title string
	flags *pflag.FlagSet
}

func newGroup(title string) group {
	return group{title, pflag.NewFlagSet(title, pflag.ContinueOnError)}
}

// groupFlags gives a command its flags and a help that shows them by group.
func groupFlags(cmd *cobra.Command, groups ...group) {
	for _, g := range groups {
		g.flags.SortFlags = false
		cmd.Flags().AddFlagSet(g.flags)
	}
	cmd.Flags().SortFlags = false
	cmd.SetUsageFunc(func(cmd *cobra.Command) error { return printUsage(cmd, groups) })
}

// printHelp prints what a command is for, and how it is used.
func printHelp(cmd *cobra.Command, _ []string) {
	_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n", fillText(cmp.Or(cmd.Long, cmd.Short), helpWidth)) // as cobra does
	_ = cmd.UsageFunc()(cmd)
}

// fillText breaks the lines of a text anew; indented ones, which are lists and examples,
// stay as they are.
func fillText(text string, width int) string {
	var lines, words []string
	flush := func() {
		if len(words) > 0 {
			lines, words = append(lines, wrapText(strings.Join(words, " "), width)...), nil
		}
	}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.TrimRight(line, " \n")
		if line != "" && !strings.HasPrefix(line, " ") {
			words = append(words, line)
			continue
		}
		flush()
		lines = append(lines, line)
	}
	flush()
	return strings.Join(lines, "\n")
}

// printUsage prints how a command is used. Flags that are in none of the groups come
// last.
func printUsage(cmd *cobra.Command, groups []group) error {
	var b strings.Builder
	use := cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		use = cmd.CommandPath() + " COMMAND"
	}
	fmt.Fprintf(&b, "Usage:\n  %s\n", use)
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	for _, section := range commandSections(cmd) {
		fmt.Fprintf(&b, "\n%s:\n", section.title)
		for _, c := range section.commands {
			fmt.Fprintf(&b, "  %-*s %s\n", cmd.NamePadding(), c.Name(), c.Short)
		}
	}
	rest := pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		f.Usage = strings.ReplaceAll(f.Usage, "\n", " ") // lines are broken anew
		if !slices.ContainsFunc(groups, func(g group) bool { return g.flags.Lookup(f.Name) != nil }) {
			rest.AddFlag(f)
		}
	})
	rest.SortFlags = cmd.Flags().SortFlags
	if rest.HasAvailableFlags() {
		title := "Flags"
		if len(groups) > 0 {
			title = "Other"
		}
		groups = append(slices.Clone(groups), group{title, rest})
	}
	for _, g := range groups {
		fmt.Fprintf(&b, "\n%s:\n%s", g.title, g.flags.FlagUsagesWrapped(helpWidth))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help says more of a command.\n", cmd.CommandPath())
	}
	_, err := fmt.Fprint(cmd.OutOrStdout(), b.String())
	return err
}

// section is commands that belong together.
type section struct {
	title    string
	names    []string
	commands []*cobra.Command
}

// rootSections are the commands by what they are about, as the help lists them.
func rootSections() []section {
	return []section{
		{title: "Jobs", names: []string{"run", "submit", "quote", "ps", "show", "logs", "wait", "cancel", "hold", "release", "requeue",
			"suspend", "resume", "update", "resize", "migrate", "checkpoint", "explain", "files", "get", "attach", "exec", "shell",
			"forward", "pool", "tell"}},
		{title: "Clusters and the broker", names: []string{"init", "up", "reload", "clusters", "cluster", "hosts", "weather", "history",
			"usage", "drain", "undrain", "depot", "log", "dashboard", "doctor"}},
		{title: "Workflows and performance models", names: []string{"flow", "model"}},
		{title: "Parallel programs and networks", names: []string{"select", "capture", "skeleton"}},
		{title: "Demo, simulator, lab and experiments", names: []string{"demo", "sim", "lab", "experiment"}},
		{title: "About godwit", names: []string{"help", "completion", "version"}},
	}
}

// commandSections are the commands below one by section; those in none stand in one of
// their own.
func commandSections(cmd *cobra.Command) []section {
	var sections []section
	left := slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool { return !c.IsAvailableCommand() && c.Name() != "help" })
	if !cmd.HasParent() {
		for _, s := range rootSections() {
			for _, name := range s.names {
				if i := slices.IndexFunc(left, func(c *cobra.Command) bool { return c.Name() == name }); i >= 0 {
					s.commands = append(s.commands, left[i])
					left = slices.Delete(left, i, i+1)
				}
			}
			if len(s.commands) > 0 {
				sections = append(sections, s)
			}
		}
	}
	if len(left) > 0 {
		title := "Commands"
		if len(sections) > 0 {
			title = "Other commands"
		}
		sections = append(sections, section{title: title, commands: left})
	}
	return sections
}

func (a *app) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:                   "help [COMMAND]",
		Short:                 "Show the help of a command",
		Example:               "  godwit help run\n  godwit help flow plan",
		DisableFlagsInUseLine: true,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			of, _, err := cmd.Root().Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, c := range of.Commands() {
				if c.IsAvailableCommand() {
					names = append(names, c.Name()+"\t"+c.Short)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) > 0 {
				err = a.noSuchCommand(of, rest)
			}
			if err != nil {
				return err
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
	}
}

// unknownCommand is the error of arguments that name no command, whatever flags follow:
// cobra would show the help of the command above.
func (a *app) unknownCommand(root *cobra.Command, args []string) error {
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return nil
	}
	cmd, rest, err := root.Find(args)
	if err != nil || !cmd.HasSubCommands() {
		return err
	}
	for _, arg := range rest {
		if !strings.HasPrefix(arg, "-") {
			return a.noSuchCommand(cmd, []string{arg})
		}
	}
	return nil
}
