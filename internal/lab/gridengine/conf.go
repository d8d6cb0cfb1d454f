package gridengine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/lab/place"
)

// What is in the cell besides its hosts.
const (
	Queue   = "all.q"
	PE      = "mpi" // parallel environment
	Threads = "smp" // that of jobs with one process, on one host
)

// gidsPerHost is how many jobs a host can tell apart.
const gidsPerHost = 200

// layFiles makes the folders and files that sge_qmaster starts from, unless they are
// there already.
func (s *Cell) layFiles(ctx context.Context) (fresh bool, err error) {
	if _, err := os.Stat(s.filePath("furnished")); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if _, err := os.Stat(s.filePath("default")); err == nil { // half of one
		if err := errors.Join(place.StopAll(ctx, s.allDaemons()), os.RemoveAll(s.config.Dir)); err != nil {
			return false, err
		}
	}
	for _, dir := range []string{"default/common", "qmaster/job_scripts", "execd", "setup", "bin", "lib", "utilbin"} {
		if err := os.MkdirAll(s.filePath(dir), 0o755); err != nil {
			return false, err
		}
	}
	for _, n := range s.config.Nodes {
		dir := s.folderOfJobs(n.Name())
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.Chmod(dir, os.ModeSticky|0o777)); err != nil {
			return false, err
		}
	}
	for name, target := range map[string]string{"util": "/usr/share/gridengine/util",
		"bin/" + arch: Commands, "lib/" + arch: Commands, "utilbin/" + arch: Commands} {
		if err := os.Symlink(target, s.filePath(name)); err != nil {
			return false, err
		}
	}
	for name, text := range map[string]string{
		"default/common/bootstrap":    s.bootstrapText(),
		"default/common/act_qmaster":  s.config.Head.Name() + "\n",
		"default/common/cluster_name": s.config.Name + "\n",
		"default/common/settings.sh":  s.settingsScript(),
		"setup/global":                formatTable(s.globalConfig()),
	} {
		if err := os.WriteFile(s.filePath(name), []byte(text), 0o644); err != nil {
			return false, err
		}
	}
	// Without these there is nothing that sge_qmaster could begin with.
	resources := s.filePath("util", "resources")
	for _, step := range [][]string{
		{"spoolinit", "classic", "libspoolc", s.spoolFolders(), "init"},
		{"spooldefaults", "configuration", s.filePath("setup", "global")},
		{"spooldefaults", "complexes", filepath.Join(resources, "centry")},
		{"spooldefaults", "usersets", filepath.Join(resources, "usersets")},
		{"spooldefaults", "managers", "root"},
	} {
		if _, err := s.CommandOutput(ctx, step[0], step[1:]...); err != nil {
			return false, err
		}
	}
	return true, nil
}

// spoolFolders names the folders that the state is kept in.
func (s *Cell) spoolFolders() string {
	return s.filePath("default/common") + ";" + s.filePath("qmaster")
}

// bootstrapText is what each command and daemon reads first.
func (s *Cell) bootstrapText() string {
	return formatTable([][2]string{
		{"admin_user", "root"},
		{"default_domain", "none"},
		{"ignore_fqdn", "true"},
		{"spooling_method", "classic"},
		{"spooling_lib", "libspoolc"},
		{"spooling_params", s.spoolFolders()},
		{"binary_path", "/usr/sbin"},
		{"qmaster_spool_dir", s.filePath("qmaster")},
		{"security_mode", "none"},
		{"listener_threads", "2"},
		{"worker_threads", "2"},
		{"scheduler_threads", "1"},
	})
}

// settingsScript is what users read into their shells.
func (s *Cell) settingsScript() string {
	var b strings.Builder
	env := s.UserEnv()
	for _, key := range slices.Sorted(maps.Keys(env)) {
		fmt.Fprintf(&b, "%s='%s'; export %s\n", key, env[key], key)
	}
	b.WriteString("PATH=" + Commands + ":$PATH; export PATH\n")
	return b.String()
}

// formatTable writes what Grid Engine reads: a name and a value a line.
func formatTable(rows [][2]string) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%-28s %s\n", r[0], r[1])
	}
	return b.String()
}

// groupIDs are the group ids that the jobs of the i-th host get.
func (s *Cell) groupIDs(i int) string {
	first := s.config.FirstGID
	if first == 0 {
		first = 40000
	}
	first += i * gidsPerHost
	return fmt.Sprintf("%d-%d", first, first+gidsPerHost-1)
}

// object is something that qconf is told of: with a flag and a file.
type object struct{ flag, name, text string }

// configureCell tells a new cell of its hosts, its queue and how fast to be.
func (s *Cell) configureCell(ctx context.Context) error {
	var names []string
	for _, n := range s.config.Nodes {
		names = append(names, n.Name())
	}
	all := strings.Join(append([]string{s.config.Head.Name()}, names...), ",")
	if err := s.runQconf(ctx, "-ah", all, "-as", all); err != nil {
		return err
	}
	scheduler, err := s.fastScheduler(ctx)
	if err != nil {
		return err
	}
	objects := []object{{"-Msconf", "scheduler", scheduler},
		{"-Ap", "pe", formatTable(parallelEnvironment(PE, "$fill_up"))},
		{"-Ap", "smp", formatTable(parallelEnvironment(Threads, "$pe_slots"))}}
	for i, n := range names {
		objects = append(objects, object{"-Ae", "host-" + n, formatTable(hostConfig(n))},
			// The name of this file is that of the host it is about.
			object{"-Aconf", n, formatTable([][2]string{{"gid_range", s.groupIDs(i)}})})
	}
	objects = append(objects, object{"-Aq", "queue", formatTable(s.queueConfig(names))})
	var args []string
	for _, o := range objects {
		file := s.filePath("setup", o.name)
		if err := os.WriteFile(file, []byte(o.text), 0o644); err != nil {
			return err
		}
		args = append(args, o.flag, file)
	}
	if err := s.runQconf(ctx, args...); err != nil {
		return err
	}
	return os.WriteFile(s.filePath("furnished"), nil, 0o644)
}

// runQconf calls qconf with two arguments at a time.
func (s *Cell) runQconf(ctx context.Context, args ...string) error {
	const pairs = `while [ $# -gt 0 ]; do "$0" "$1" "$2"; shift 2; done`
	argv := append([]string{"sh", "-ec", pairs, filepath.Join(Commands, "qconf")}, args...)
	_, err := place.CommandOutput(ctx, s.config.Head, s.withEnv(argv...)...)
	return err
}

// fastScheduler is the scheduler's configuration changed so that it looks at once when
// something changes, instead of every quarter of a minute.
func (s *Cell) fastScheduler(ctx context.Context) (string, error) {
	text, err := s.CommandOutput(ctx, "qconf", "-ssconf")
	if err != nil {
		return "", err
	}
	faster := map[string]string{"schedule_interval": "0:0:1", "flush_submit_sec": "1", "flush_finish_sec": "1",
		"job_load_adjustments": "NONE", "load_adjustment_decay_time": "0:0:0", "schedd_job_info": "true"}
	var rows [][2]string
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if want, ok := faster[key]; ok {
			value = want
		}
		rows = append(rows, [2]string{key, strings.TrimSpace(value)})
	}
	return formatTable(rows), nil
}
