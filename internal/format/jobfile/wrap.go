package jobfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Wrapping is what is done around the program, by a shell.
type Wrapping struct {
	Pre, Post string // scripts that are read before and after
	Copies    int    // of the program, at once; 0 or 1: one
	Clear     bool   // it has no variables but those of the job
}

// extraInput brings a file along that the program is wrapped with, and returns where
// it lies.
func (d *Draft) extraInput(field, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	in, err := d.inputPath(name)
	if err != nil {
		return "", d.fieldError(field, name, "no such file")
	}
	if !slices.Contains(d.Inputs, in) {
		d.Inputs = append(d.Inputs, in)
	}
	return lastName(in), nil
}

// wrapCommand puts the shell around the program, if there is something for it to do.
func (d *Draft) wrapCommand() error {
	w := d.around
	var files [3]string
	for i, f := range []struct{ field, name string }{{"stdin", d.stdin}, {"pre_launch", w.Pre}, {"post_launch", w.Post}} {
		var err error
		if files[i], err = d.extraInput(f.field, f.name); err != nil {
			return err
		}
	}
	stdin, pre, post := files[0], files[1], files[2]
	if stdin == "" && w == (Wrapping{}) {
		return nil
	}
	line := quoteWords(d.Argv)
	if w.Clear {
		line = cleanEnvironment(d.Env) + line
	}
	if stdin != "" {
		line += " <" + quoteWord(stdin)
	}
	switch {
	case w.Copies > 1:
		line = runCopies(line, w.Copies)
	case post == "":
		line = "exec " + line
	}
	if pre != "" {
		line = ". ./" + quoteWord(pre) + "\n" + line
	}
	if post != "" {
		line += "\ncode=$?\n. ./" + quoteWord(post) + "\nexit $code"
	}
	d.Argv = shellCommand(line)
	return nil
}

// cleanEnvironment is a command before another that takes all variables away but those of
// the job, and the one by which its processes are found.
func cleanEnvironment(env map[string]string) string {
	line := `env -i GODWIT_ATTEMPT="$GODWIT_ATTEMPT" `
	for _, name := range slices.Sorted(maps.Keys(env)) {
		line += quoteWord(name+"="+env[name]) + " "
	}
	return line
}

// runCopies runs a command so often at once, and fails if one of them does.
func runCopies(line string, copies int) string {
	return fmt.Sprintf("i=0; all=; while [ $i -lt %d ]; do %s & all=\"$all $!\"; i=$((i+1)); done; code=0; for i in "+
		"$all; do wait $i || code=$?; done; (exit $code)", copies, line)
}

func quoteWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quoteWord(w)
	}
	return strings.Join(quoted, " ")
}

// quoteWord writes a word so that a shell takes it as it is; those that need no
// quotes have none.
func quoteWord(w string) string {
	plain := w != ""
	for _, c := range w {
		plain = plain && (isLetter(c) || c >= '0' && c <= '9' || strings.ContainsRune("._-/+:,@%", c))
	}
	if plain {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
