package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/report/outfile"
)

// manCommand writes the man pages; make install calls it.
func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write the man pages of all commands into a directory",
		Hidden:  true,
		Example: "  godwit man build/man",
		Args:    func(cmd *cobra.Command, args []string) error { return term.OneArgument(cmd, args, "a directory") },
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o777); err != nil {
				return err
			}
			return a.writeManPages(cmd.Root(), args[0])
		},
	}
}

// writeManPages writes the page of a command and of those below it.
func (a *app) writeManPages(cmd *cobra.Command, dir string) error {
	cmd.InitDefaultHelpFlag()
	path := filepath.Join(dir, manName(cmd)+".1")
	if err := outfile.WriteAll(path, []byte(manPage(cmd, a.Version))); err != nil {
		return err
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			if err := a.writeManPages(c, dir); err != nil {
				return err
			}
		}
	}
	return nil
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage is the page of a command, for troff.
func manPage(cmd *cobra.Command, version string) string {
	var b strings.Builder
	name := manName(cmd)
	fmt.Fprintf(&b, ".TH %s 1 \"\" %s Godwit\n", troffWord(strings.ToUpper(name)), troffWord("godwit "+version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escapeTroff(name), escapeTroff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n%s\n", escapeTroff(cmd.UseLine()))
	b.WriteString(".SH DESCRIPTION\n")
	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}
	b.WriteString(troffText(long))
	for _, s := range term.CommandSections(cmd, rootSections()) {
		fmt.Fprintf(&b, ".SH %s\n", troffWord(strings.ToUpper(s.Title)))
		for _, c := range s.Commands {
			fmt.Fprintf(&b, ".TP\n.BR %s (1)\n%s\n", escapeTroff(manName(c)), escapeTroff(c.Short))
		}
	}
	if cmd.Flags().HasAvailableFlags() {
		b.WriteString(".SH OPTIONS\n")
		cmd.Flags().VisitAll(func(f *pflag.Flag) { b.WriteString(manFlag(f)) })
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s.fi\n", troffLines(cmd.Example))
	}
	if cmd.HasParent() {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", escapeTroff(manName(cmd.Parent())))
	}
	return b.String()
}

// manFlag describes one flag.
func manFlag(f *pflag.Flag) string {
	if f.Hidden {
		return ""
	}
	kind, usage := pflag.UnquoteUsage(f)
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	text := fmt.Sprintf(".TP\n\\fB%s\\fP", escapeTroff(name))
	if kind != "" {
		text += fmt.Sprintf(" \\fI%s\\fP", escapeTroff(kind))
	}
	return text + "\n" + escapeTroff(usage) + "\n"
}

// escapeTroff makes a text of one line safe: a backslash, a dash that is one, a dot or quote at
// the beginning that is no request.
func escapeTroff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}

// troffWord is one argument of a request.
func troffWord(text string) string {
	return `"` + strings.ReplaceAll(escapeTroff(text), `"`, `\(dq`) + `"`
}

// troffText is paragraphs that are filled; indented lines stay as they are.
func troffText(text string) string {
	var b strings.Builder
	for i, paragraph := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		if strings.HasPrefix(paragraph, " ") {
			b.WriteString(".nf\n" + troffLines(paragraph) + ".fi\n")
			continue
		}
		b.WriteString(troffLines(paragraph))
	}
	return b.String()
}

func troffLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(escapeTroff(strings.TrimRight(line, "\n")) + "\n")
	}
	return b.String()
}
