package term

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// HelpWidth is the most columns that a line of help takes.
const HelpWidth = 80

// Group is flags that belong together, under a title in the help.
type Group struct {
	title string
	Flags *pflag.FlagSet
}

// NewGroup makes a group without flags.
func NewGroup(title string) Group {
	return Group{title, pflag.NewFlagSet(title, pflag.ContinueOnError)}
}

// GroupFlags gives a command its flags and a help that shows them by group.
func GroupFlags(cmd *cobra.Command, groups ...Group) {
	for _, g := range groups {
		g.Flags.SortFlags = false
		cmd.Flags().AddFlagSet(g.Flags)
	}
	cmd.Flags().SortFlags = false
	cmd.SetUsageFunc(func(cmd *cobra.Command) error { return printUsage(cmd, groups, nil) })
}

// printHelp prints what a command is for, and how it is used.
func printHelp(cmd *cobra.Command, _ []string) {
	_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n", fillText(cmp.Or(cmd.Long, cmd.Short), HelpWidth)) // as cobra does
	_ = cmd.UsageFunc()(cmd)
}

// fillText breaks the lines of a text anew; indented ones, which are lists and examples,
// stay as they are.
func fillText(text string, width int) string {
	var lines, words []string
	flush := func() {
		if len(words) > 0 {
			lines, words = append(lines, WrapText(strings.Join(words, " "), width)...), nil
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
// last; the sections are those of the command above all others.
func printUsage(cmd *cobra.Command, groups []Group, sections []Section) error {
	var b strings.Builder
	use := cmd.UseLine()
	if cmd.HasAvailableSubCommands() && cmd.Annotations[OwnArguments] == "" {
		use = cmd.CommandPath() + " COMMAND"
	}
	fmt.Fprintf(&b, "Usage:\n  %s\n", use)
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	for _, section := range CommandSections(cmd, sections) {
		fmt.Fprintf(&b, "\n%s:\n", section.Title)
		for _, c := range section.Commands {
			fmt.Fprintf(&b, "  %-*s %s\n", cmd.NamePadding(), c.Name(), c.Short)
		}
	}
	rest := pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		f.Usage = strings.ReplaceAll(f.Usage, "\n", " ") // lines are broken anew
		if !slices.ContainsFunc(groups, func(g Group) bool { return g.Flags.Lookup(f.Name) != nil }) {
			rest.AddFlag(f)
		}
	})
	rest.SortFlags = cmd.Flags().SortFlags
	if rest.HasAvailableFlags() {
		title := "Flags"
		if len(groups) > 0 {
			title = "Other"
		}
		groups = append(slices.Clone(groups), Group{title, rest})
	}
	for _, g := range groups {
		fmt.Fprintf(&b, "\n%s:\n%s", g.title, g.Flags.FlagUsagesWrapped(HelpWidth))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help says more of a command.\n", cmd.CommandPath())
	}
	_, err := fmt.Fprint(cmd.OutOrStdout(), b.String())
	return err
}

// Section is commands that belong together.
type Section struct {
	Title    string
	Names    []string
	Commands []*cobra.Command
}

// CommandSections are the commands below one by section, if it stands above all others;
// those in none stand in one of their own.
func CommandSections(cmd *cobra.Command, all []Section) []Section {
	var sections []Section
	left := slices.DeleteFunc(slices.Clone(cmd.Commands()),
		func(c *cobra.Command) bool { return !c.IsAvailableCommand() && c.Name() != "help" })
	if !cmd.HasParent() {
		for _, s := range all {
			for _, name := range s.Names {
				if i := slices.IndexFunc(left, func(c *cobra.Command) bool { return c.Name() == name }); i >= 0 {
					s.Commands = append(s.Commands, left[i])
					left = slices.Delete(left, i, i+1)
				}
			}
			if len(s.Commands) > 0 {
				sections = append(sections, s)
			}
		}
	}
	if len(left) > 0 {
		title := "Commands"
		if len(sections) > 0 {
			title = "Other commands"
		}
		sections = append(sections, Section{Title: title, Commands: left})
	}
	return sections
}

func (a *App) helpCommand(example string) *cobra.Command {
	return &cobra.Command{
		Use:                   "help [COMMAND]",
		Short:                 "Show the help of a command",
		Example:               example,
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
				err = a.NoSuchCommand(of, rest)
			}
			if err != nil {
				return err
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
	}
}

// OwnArguments is the annotation of a command that takes arguments though it has subcommands.
const OwnArguments = "own-arguments"

// unknownCommand is the error of arguments that name no command, whatever flags follow:
// cobra would show the help of the command above.
func (a *App) unknownCommand(root *cobra.Command, args []string) error {
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return nil
	}
	cmd, rest, err := root.Find(args)
	if err != nil || !cmd.HasSubCommands() || cmd.Annotations[OwnArguments] != "" {
		return err
	}
	for _, arg := range rest {
		if !strings.HasPrefix(arg, "-") {
			return a.NoSuchCommand(cmd, []string{arg})
		}
	}
	return nil
}
