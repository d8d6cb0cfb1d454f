package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver/local"
	"github.com/godwit-hpc/godwit/internal/live/config"
)

// tool is a system of others that clusters are reached through.
type tool struct {
	check    string
	driver   string   // of clusters that need it on this machine
	commands []string // all that are needed; the first is asked for its version
	version  []string // how
	pattern  string   // of the version in what it says
	places   []string // besides PATH
	root     string   // of the configuration, if nobody names another
	config   string   // how the settings name the configuration, without which it does not even tell its version
	good     string   // for what it is needed
	debian   string   // package that has it
}

var tools = []tool{
	{check: "Slurm", driver: config.Slurm, commands: []string{"sbatch", "squeue", "scancel", "sinfo"},
		version: []string{"--version"},
		pattern: `(?m)^slurm\S* (\d\S*)`, config: "env: {SLURM_CONF: /…/slurm.conf}",
		good: "clusters under Slurm on this machine (driver: slurm)", debian: "slurm-client"},
	{check: "Grid Engine", driver: config.GridEngine, commands: []string{"qsub", "qstat", "qdel", "qhost"},
		version: []string{"-help"},
		pattern: `^[A-Z]\w* (\d[\w.]*)`, places: []string{"/usr/lib/gridengine"}, root: "/var/lib/gridengine",
		config: "env: {SGE_ROOT: /…, SGE_CELL: default}",
		good:   "clusters under Grid Engine on this machine (driver: gridengine)", debian: "gridengine-client"},
	{check: "ssh", commands: []string{"ssh"}, version: []string{"-V"}, pattern: `OpenSSH_([^\s,]+)`,
		good: "clusters elsewhere (ssh: user@host)", debian: "openssh-client"},
	{check: "MPI", commands: []string{"mpirun"}, version: []string{"--version"},
		pattern: `(?:Open MPI\)|Version:?) (\d\S*)`,
		good:    "programs that use MPI", debian: "openmpi-bin"},
}

// checkTools looks for batch systems and what else clusters are reached through.
// They are missed only by who uses them.
func checkTools(ctx context.Context) []finding {
	var clusters []config.Cluster
	if cpus, err := local.UsableCPUs(); err == nil {
		if cfg, err := config.LoadSettings("", os.Getenv, cpus); err == nil {
			clusters = cfg.Clusters
		}
	}
	var list []finding
	for i := range tools {
		list = append(list, tools[i].findVersion(ctx, clusters))
	}
	return list
}

// findVersion finds the commands and asks the first for its version.
func (t *tool) findVersion(ctx context.Context, clusters []config.Cluster) finding {
	var users []string
	places, env := t.places, t.toolEnvironment()
	for i := range clusters {
		c := &clusters[i]
		if c.SSH == "" && t.driver != "" && c.Driver == t.driver || t.driver == "" && t.check == "ssh" && c.SSH != "" {
			users = append(users, c.Name)
			if c.Commands != "" && c.SSH == "" {
				places = append([]string{c.Commands}, places...)
			}
			for name, value := range c.Env {
				env = append(env, name+"="+value)
			}
		}
	}
	var missing []string
	for _, name := range t.commands {
		if findIn(places, name) == "" {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return t.notFound(missing, users)
	}
	path := findIn(places, t.commands[0])
	version, said := t.askVersion(ctx, path, env)
	f := finding{Check: t.check, OK: true, Detail: strings.TrimSpace(version + " " + path)}
	if version == "" && t.config != "" {
		f.OK, f.Detail = false, path+" is there, but not configured on this machine ("+said+")"
		f.Fix = "for " + t.good + ": name the configuration in the settings (" + t.config + ")"
		if len(users) > 0 {
			f.Detail += ", and the settings have " + strings.Join(users, ", ")
			f.Fix = "name the configuration in the settings (" + t.config + ")"
		}
	}
	return f
}

// notFound says what is missing, for what or for whom.
func (t *tool) notFound(missing, users []string) finding {
	f := finding{Check: t.check, Detail: strings.Join(missing, ", ") + " not found; needed for " + t.good,
		Fix: "sudo apt-get install " + t.debian}
	if len(users) > 0 {
		f.Detail = strings.Join(missing, ", ") + " not found, but the settings have " + strings.Join(users, ", ")
		if t.driver != "" {
			f.Fix += ", or name their folder in the settings (commands: /opt/…)"
		}
	}
	return f
}

// toolEnvironment is what the commands find around them if the settings do not say
// otherwise.
func (t *tool) toolEnvironment() []string {
	env := os.Environ()
	if t.root != "" && os.Getenv("SGE_ROOT") == "" {
		env = append(env, "SGE_ROOT="+t.root)
	}
	return append(env, "LC_ALL=C")
}

// findIn finds a command in one of the folders, else by PATH; "": nowhere.
func findIn(folders []string, name string) string {
	for _, dir := range folders {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}

// askVersion asks a command for its version; "": it does not say, but something else,
// of which the last words are returned.
func (t *tool) askVersion(ctx context.Context, path string, env []string) (version, said string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, t.version...)
	cmd.Env, cmd.WaitDelay = env, time.Second
	out, _ := cmd.CombinedOutput() // some end their help with an error
	if m := regexp.MustCompile(t.pattern).FindSubmatch(out); m != nil {
		return string(m[1]), ""
	}
	text := strings.TrimSuffix(strings.TrimSpace(string(out)), "\nExiting.")
	last := text[strings.LastIndex(text, "\n")+1:]
	return "", strings.TrimSpace(last[strings.LastIndex(last, ": ")+1:])
}
