package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// The weights that the kernel gives a group which nobody gives one, and large ones, by
// which all other groups are next to nothing.
const (
	usualShares, largeShares = 1024, 32768 // version 1
	usualWeight, largeWeight = 100, 10000  // version 2, where more is not possible
)

// SetCPUShare gives a group its part of the processors, and the same part in proportion
// to groups beside it when there is not enough for all; 0 is no limit, and the part of one.
func (g *Group) SetCPUShare(cpus float64) error {
	i := slices.IndexFunc(g.folders, func(f folder) bool { return slices.Contains(f.has, "cpu") })
	if i < 0 {
		return errors.New("this system has no cgroups that limit CPU time")
	}
	weight := 1.0
	if cpus > 0 {
		weight = cpus
	}
	f := g.folders[i]
	return errors.Join(f.setQuota(cpus), f.setWeight(weight))
}

// setWeight sets the weight in multiples of the usual one.
func (f folder) setWeight(multiple float64) error {
	if f.v2 {
		return f.writeControl("cpu.weight", strconv.Itoa(min(max(int(multiple*usualWeight), 1), largeWeight)))
	}
	return f.writeControl("cpu.shares", strconv.Itoa(max(int(multiple*usualShares), 2)))
}

// PreferGroup lets the group go before all others when there is not enough processor time.
func (g *Group) PreferGroup() error {
	for _, f := range g.folders {
		if !slices.Contains(f.has, "cpu") {
			continue
		}
		file, weight := "cpu.shares", largeShares
		if f.v2 {
			file, weight = "cpu.weight", largeWeight
		}
		if err := f.writeControl(file, strconv.Itoa(weight)); err != nil {
			return err
		}
	}
	return nil
}

// Scheduling finds out in which groups the kernel's scheduler puts processes, and what
// weights those have. It remembers the weights, so it serves for one look at many
// processes and not for longer.
type Scheduling struct {
	top     folder // of the hierarchy with the CPU controller; no path if there is none
	weights map[string]float64
}

// Level is a cgroup among those that the scheduler divides processor time between.
type Level struct {
	Path   string  // as /proc/PID/cgroup names it
	Weight float64 // in multiples of the usual one
}

// ReadScheduling looks where the scheduler's groups are.
func ReadScheduling() *Scheduling {
	s := &Scheduling{weights: map[string]float64{}}
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err == nil {
		s.top = schedulerTop(parseMounts(mounts))
	}
	return s
}

// schedulerTop is the hierarchy with the CPU controller: one of version 1 if there is
// one, else that of version 2.
func schedulerTop(mounts []mount) folder {
	var top folder
	for _, m := range mounts {
		switch {
		case !m.v2 && slices.Contains(m.controllers, "cpu"):
			return folder{path: m.point}
		case m.v2 && top.path == "":
			top = folder{path: m.point, v2: true}
		}
	}
	return top
}

// LevelsOf are the groups that a process is in, outermost first; none if it is gone.
func (s *Scheduling) LevelsOf(pid int) []Level {
	levels, _ := s.readLevels(strconv.Itoa(pid))
	return levels
}

// OwnLevels are the groups that this process is in, outermost first; false if cgroups
// cannot be looked at.
func (s *Scheduling) OwnLevels() ([]Level, bool) { return s.readLevels("self") }

func (s *Scheduling) readLevels(process string) ([]Level, bool) {
	if s.top.path == "" {
		return nil, false
	}
	text, err := os.ReadFile(filepath.Join("/proc", process, "cgroup"))
	if err != nil {
		return nil, false
	}
	controller := "cpu"
	if s.top.v2 {
		controller = ""
	}
	return s.levelsOfPath(parseOwn(text)[controller]), true
}

// levelsOfPath are the levels of a path that the scheduler knows.
func (s *Scheduling) levelsOfPath(path string) []Level {
	var levels []Level
	path = filepath.Clean("/" + path)
	for i := 1; i <= len(path) && path != "/"; i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		if w := s.weightOf(path[:i]); w > 0 {
			levels = append(levels, Level{path[:i], w})
		}
	}
	return levels
}

// weightOf is that of one cgroup; 0 if the scheduler does not know it.
func (s *Scheduling) weightOf(path string) float64 {
	if w, known := s.weights[path]; known {
		return w
	}
	file, usual := "cpu.shares", float64(usualShares)
	if s.top.v2 {
		file, usual = "cpu.weight", usualWeight
	}
	w := 0.0
	if text, err := (folder{path: filepath.Join(s.top.path, path)}).readControl(file); err == nil {
		if n, err := strconv.Atoi(text); err == nil && n > 0 {
			w = float64(n) / usual
		}
	}
	s.weights[path] = w
	return w
}
