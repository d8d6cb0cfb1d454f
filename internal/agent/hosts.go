package agent

import (
	"os"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/agent/wire"
)

// mostHosts bounds what a list of hosts may unfold to.
const mostHosts = 10_000

// hostsOf are the hosts of an attempt: those that the driver chose, or hostsHere.
func hostsOf(a *wire.Attempt) []string {
	if len(a.Hosts) == 0 {
		return hostsHere(os.Getenv)
	}
	var list []string
	for _, h := range a.Hosts {
		list = append(list, h.Name)
	}
	return list
}

// hostsHere are the hosts that the attempt was given: those that the cluster's
// manager names, else this one.
func hostsHere(getenv func(string) string) []string {
	if list := unfold(getenv("SLURM_JOB_NODELIST")); len(list) > 0 {
		return list
	}
	if list := hostsOfPE(getenv("PE_HOSTFILE")); len(list) > 0 {
		return list
	}
	name, err := os.Hostname()
	if err != nil {
		return nil
	}
	return []string{name}
}

// hostsOfPE reads Grid Engine's list: one host a line, its name first.
func hostsOfPE(file string) []string {
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var list []string
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 0 && len(list) < mostHosts {
			list = append(list, words[0])
		}
	}
	return list
}

// unfold writes out Slurm's short form of host lists: n[01-03,7],login is n01,
// n02, n03, n7, login. What is not such a list gives nothing.
func unfold(list string) []string {
	var hosts []string
	for list != "" {
		i := strings.IndexAny(list, "[,")
		switch {
		case i < 0:
			return append(hosts, list)
		case list[i] == ',':
			if i > 0 {
				hosts = append(hosts, list[:i])
			}
			list = list[i+1:]
		default:
			end := strings.IndexByte(list, ']')
			if end < i {
				return nil
			}
			some := unfoldRanges(list[:i], list[i+1:end])
			if len(hosts)+len(some) > mostHosts {
				return nil
			}
			hosts = append(hosts, some...)
			list = strings.TrimPrefix(list[end+1:], ",")
		}
	}
	return hosts
}

func unfoldRanges(prefix, ranges string) []string {
	var hosts []string
	for part := range strings.SplitSeq(ranges, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil || from < 0 || to-from >= mostHosts {
			return nil
		}
		for n := from; n <= to; n++ {
			digits := strconv.Itoa(n)
			hosts = append(hosts, prefix+strings.Repeat("0", max(0, len(first)-len(digits)))+digits)
		}
	}
	return hosts
}
