package cgroup

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// RemoveOrphans ends and removes the groups below the cgroup of this process whose names
// begin as given and of whose rest isKnown says no, in all hierarchies in which a group
// with these limits is made.
func RemoveOrphans(beginning string, l Limits, isKnown func(rest string) bool) error {
	h, err := thisHost()
	if err != nil {
		return err
	}
	places, err := h.neededPlaces(l)
	if err != nil {
		forgetHost() // something may have changed
		return err
	}
	var errs []error
	for _, p := range places {
		stem := filepath.Join(p.base, prefix+beginning)
		found, err := filepath.Glob(stem + "*")
		errs = append(errs, err)
		for _, path := range found {
			if isKnown(strings.TrimPrefix(path, stem)) {
				continue
			}
			orphan := &Group{folders: []folder{{path: path, v2: p.v2, has: p.has}}}
			if err := orphan.KillAll(); err != nil {
				errs = append(errs, fmt.Errorf("end a cgroup: %w", err))
				continue
			}
			errs = append(errs, orphan.RemoveGroup()) // which waits for the dying
		}
	}
	return errors.Join(errs...)
}
