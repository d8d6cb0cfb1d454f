package history

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// SplitCommand splits a command line into what is run and what it is told, so that
// runs of the same program find each other: `python3 dir/pi.py 2000` is pi.py
// run by python3 with argument 2000, `sh -c './burn 30'` is burn with 30.
func SplitCommand(argv []string) (program string, args []string) {
	if len(argv) == 0 {
		return "", nil
	}
	program, args = path.Base(argv[0]), argv[1:]
	if !isInterpreter(program) || len(args) == 0 {
		return program, args
	}
	if i := slices.Index(args, "-c"); i == 0 && len(args) > 1 && isShell(program) {
		words := strings.Fields(args[1])
		for len(words) > 1 && (strings.Contains(words[0], "=") || words[0] == "exec") { // VAR=value before the command
			words = words[1:]
		}
		if len(words) == 0 {
			return program, args
		}
		words[0] = cmp.Or(strings.Trim(words[0], `'"`), words[0])
		inner, rest := SplitCommand(words)
		return inner, append(slices.Clone(rest), args[2:]...)
	}
	if strings.HasPrefix(args[0], "-") {
		return program, args
	}
	return program + " " + path.Base(args[0]), args[1:]
}

func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh"}, name)
}

func isInterpreter(name string) bool {
	bare := strings.TrimRight(name, "0123456789.")
	return isShell(name) || slices.Contains([]string{"python", "perl", "ruby", "Rscript", "node", "julia", "php", "lua"},
		bare)
}

// argumentShape is a list of arguments with its numbers taken out: two lists of the same
// shape differ in numbers alone.
func argumentShape(args []string) (form string, numbers []float64) {
	var b strings.Builder
	for _, a := range args {
		key, value, assigned := strings.Cut(a, "=")
		if !assigned {
			key, value = "", a
		}
		place := strconv.Quote(value)
		if x, err := strconv.ParseFloat(value, 64); err == nil && !math.IsInf(x, 0) && !math.IsNaN(x) {
			numbers = append(numbers, x)
			place = "#" // not quoted: nothing else is written so
		}
		b.WriteString(strconv.Quote(key) + "=" + place + " ")
	}
	return b.String(), numbers
}
