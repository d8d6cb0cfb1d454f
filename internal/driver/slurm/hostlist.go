package slurm

import (
	"fmt"
	"strconv"
	"strings"
)

// mostHosts bounds what a list of hosts is expanded to.
const mostHosts = 4096

// expand makes the names of a list such as n[1-3,07],gpu-2. What it does not
// understand it leaves as it is.
func expand(s string) []string {
	s = strings.TrimSpace(s)
	if s == "" || strings.HasPrefix(s, "(") { // (null), or why there are none
		return nil
	}
	var list []string
	for _, part := range splitOutside(s) {
		list = append(list, expandOne(part, mostHosts-len(list))...)
		if len(list) >= mostHosts {
			break
		}
	}
	return list
}

// splitOutside splits at the commas that are not in brackets.
func splitOutside(s string) []string {
	var list []string
	depth, from := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth == 0 {
				list = append(list, s[from:i])
				from = i + 1
			}
		}
	}
	return append(list, s[from:])
}

// expandOne expands the first pair of brackets and then the others, to at most
// that many names.
func expandOne(s string, most int) []string {
	if s == "" || most <= 0 {
		return nil
	}
	head, rest, ok := strings.Cut(s, "[")
	if !ok {
		return []string{s}
	}
	inside, tail, ok := strings.Cut(rest, "]")
	if !ok {
		return []string{s}
	}
	var list []string
	for _, tails := range orNothing(expandOne(tail, most)) {
		for span := range strings.SplitSeq(inside, ",") {
			for _, n := range numbers(span, most-len(list)) {
				list = append(list, head+n+tails)
			}
		}
	}
	return list
}

func orNothing(list []string) []string {
	if len(list) == 0 {
		return []string{""}
	}
	return list
}

// numbers are those of a span such as 08-11, as they are written.
func numbers(span string, most int) []string {
	if most <= 0 {
		return nil
	}
	from, to, ok := strings.Cut(span, "-")
	lo, err1 := strconv.Atoi(from)
	hi, err2 := strconv.Atoi(to)
	if !ok || err1 != nil || err2 != nil || lo < 0 || hi < lo {
		return []string{span}
	}
	var list []string
	for n := lo; n <= hi && len(list) < most; n++ {
		list = append(list, fmt.Sprintf("%0*d", min(len(from), 20), n))
	}
	return list
}
