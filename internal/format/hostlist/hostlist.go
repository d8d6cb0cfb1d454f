// Package hostlist reads lists of hosts as Slurm shortens them: n[01-03,7],login
// is n01, n02, n03, n7, login. It decides what is such a list and must not know
// who asks, nor whether there are such hosts.
package hostlist

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxHosts is how many hosts a list may name, as in Slurm itself.
const MaxHosts = 1 << 16

// ExpandList writes a list out. What is no list, as a whole, gives nothing: half of
// one would be worse than none.
func ExpandList(list string) []string {
	var hosts []string
	for _, item := range splitOutside(strings.TrimSpace(list)) {
		if item == "" {
			continue
		}
		some, ok := unfoldOne(item, MaxHosts-len(hosts))
		if !ok {
			return nil
		}
		hosts = append(hosts, some...)
	}
	return hosts
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

// unfoldOne writes out a name with any number of brackets; the last counts
// fastest. It does no more work than there is room for.
func unfoldOne(s string, room int) ([]string, bool) {
	hosts := []string{""}
	for s != "" {
		plain, rest, more := strings.Cut(s, "[")
		if strings.ContainsFunc(plain, isForeign) {
			return nil, false
		}
		ends := []string{""}
		if more {
			inside, after, closed := strings.Cut(rest, "]")
			numbers, ok := unfoldNumbers(inside, room/len(hosts))
			if !closed || !ok {
				return nil, false
			}
			ends, rest = numbers, after
		}
		next := make([]string, 0, len(hosts)*len(ends))
		for _, h := range hosts {
			for _, e := range ends {
				next = append(next, h+plain+e)
			}
		}
		hosts, s = next, rest
	}
	return hosts, len(hosts) <= room
}

// isForeign is what stands in no name of a host.
func isForeign(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-')
}

// unfoldNumbers writes out 01-03,7, with the leading noughts of each.
func unfoldNumbers(s string, room int) ([]string, bool) {
	var list []string
	for span := range strings.SplitSeq(s, ",") {
		first, last, is := strings.Cut(span, "-")
		if !is {
			last = first
		}
		from, ok1 := parseNumber(first)
		to, ok2 := parseNumber(last)
		if !ok1 || !ok2 || to < from || to-from >= room-len(list) {
			return nil, false
		}
		for n := from; n <= to; n++ {
			list = append(list, fmt.Sprintf("%0*d", len(first), n))
		}
	}
	return list, true
}

// parseNumber reads digits alone: neither signs nor blanks.
func parseNumber(s string) (int, bool) {
	const longest = 18 // that always fit
	if s == "" || len(s) > longest || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}
