package lab

import (
	"errors"
	"os"
	"strings"
)

// CheckAble says what this process lacks to make a lab; nil if it lacks nothing.
func CheckAble() error {
	var missing []string
	if os.Geteuid() != 0 {
		missing = append(missing, "to be root (network namespaces, addresses, cgroups and mounts need it)")
	}
	g, err := findGroups(defaultBase, "x")
	if err != nil {
		missing = append(missing, "cgroups: "+err.Error())
	} else {
		for _, c := range []string{"cpu", "cpuset", "memory"} {
			if !g.lab.HasController(c) {
				missing = append(missing, "the cgroup controller "+c)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return errors.New("a lab needs " + strings.Join(missing, "; and "))
}
