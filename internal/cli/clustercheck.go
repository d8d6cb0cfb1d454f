package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/live/config"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// probe is run where a cluster is. It changes nothing but a file of its own, which
// it removes, and prints one KEY VALUE a line.
const probe = `
say() { printf '%s %s\n' "$1" "$2"; }
say arch "$(uname -m)"
say os "$(uname -s)"
say cores "$(nproc 2>/dev/null || echo 0)"
dir=$1; shift
case $dir in "~"|"~/"*) dir=$HOME${dir#"~"};; esac
up=$dir
while [ ! -d "$up" ]; do up=$(dirname "$up"); done
t=$up/.godwit-check-$$
if (: >"$t") 2>/dev/null; then rm -f "$t"; say dir "$dir"; else say nodir "$dir: $up cannot be written to"; fi
say free "$(df -Pk "$up" 2>/dev/null | awk 'NR==2 {print $4}')"
if [ -d "$dir" ] && find "$dir" -maxdepth 4 -name 'godwit*' -type f 2>/dev/null | grep -q .; then say binary yes; fi
if [ "$(cat /proc/sys/kernel/unprivileged_userns_clone 2>/dev/null || echo 1)" = 1 ] && [ "$(cat /proc/sys/user/max_user_namespaces 2>/dev/null || echo 0)" != 0 ]; then say userns yes; fi
[ -z "$GODWIT_COMMANDS" ] || PATH=$GODWIT_COMMANDS:$PATH
for c in "$@"; do if p=$(command -v "$c"); then say found "$c $p"; else say missing "$c"; fi; done
case " $* " in
*" sbatch "*)
  if out=$(sinfo -h -o %R 2>&1); then for p in $out; do say partition "$p"; done; else say failed "sinfo: $(echo $out)"; fi
  if [ -n "$GODWIT_ACCOUNT" ] && out=$(sacctmgr -nP show assoc user="$(id -un)" format=account 2>/dev/null) && [ -n "$out" ]; then
    for p in $out; do say account "$p"; done; fi ;;
*" qsub "*)
  if out=$(qconf -sql 2>&1); then for p in $out; do say partition "$p"; done; else say failed "qconf -sql: $(echo $out)"; fi
  if out=$(qconf -spl 2>/dev/null); then for p in $out; do say pe "$p"; done; fi ;;
esac
say end yes
`

// probeTimeout is how long a cluster may take to be checked.
const probeTimeout = 45 * time.Second

// checkCluster finds out whether a cluster can be used.
func checkCluster(ctx context.Context, c *config.Cluster) []finding {
	hosts := c.SSHHosts
	if len(hosts) == 0 {
		hosts = []string{c.SSH}
	}
	var all []finding
	for _, host := range hosts {
		found := checkHost(ctx, c, host)
		if len(hosts) > 1 {
			for i := range found {
				found[i].Check = config.HostFromSSH(host) + " " + found[i].Check
			}
		}
		all = append(all, found...)
	}
	return all
}

func checkHost(ctx context.Context, c *config.Cluster, host string) []finding {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	args := append([]string{workDir(c, host)}, managerCommands(c.Driver)...)
	argv := append([]string{"sh", "-s", "--"}, args...)
	if host != "" {
		remote := make([]string, 0, len(args)+3)
		for _, w := range argv {
			remote = append(remote, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
		}
		argv = slices.Concat([]string{"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"}, c.SSHOptions,
			[]string{host, strings.Join(remote, " ")})
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin = strings.NewReader(settingsForProbe(c) + probe)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	said := map[string][]string{}
	for line := range strings.Lines(stdout.String()) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		said[key] = append(said[key], value)
	}
	if said["end"] == nil {
		why := cmp.Or(lastLine(stderr.String()), fmt.Sprint(err))
		f := finding{Check: "reach", Needed: true, Detail: why}
		if host != "" {
			f.Fix = "ssh " + strings.Join(append(slices.Clone(c.SSHOptions), host), " ") +
				" must work without a password: ssh-copy-id " + host
		}
		return []finding{f}
	}
	return judgeProbe(c, host, said)
}

// workDir is the folder where the broker keeps what belongs to a cluster: elsewhere
// XDG_STATE_HOME of this machine says nothing.
func workDir(c *config.Cluster, host string) string {
	state, err := api.StateDir()
	switch {
	case c.Dir != "":
		return c.Dir
	case host == "" && err == nil:
		return filepath.Join(state, "clusters", c.Name)
	}
	return "~/.local/state/godwit/outposts/" + c.Name
}

// settingsForProbe is what the probe needs of the settings, as a shell has it.
func settingsForProbe(c *config.Cluster) string {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	text := "GODWIT_COMMANDS=" + quote(c.Commands) + "\nGODWIT_ACCOUNT=" + quote(accountOf(c)) + "\n"
	for _, key := range slices.Sorted(maps.Keys(c.Env)) {
		text += "export " + key + "=" + quote(c.Env[key]) + "\n"
	}
	return text
}

func managerCommands(driver string) []string {
	switch driver {
	case config.Slurm:
		return []string{"sbatch", "squeue", "scancel", "sinfo"}
	case config.GridEngine:
		return []string{"qsub", "qstat", "qdel", "qhost"}
	}
	return nil
}

// accountOf is the account that the settings have jobs of Slurm charged to.
func accountOf(c *config.Cluster) string {
	for i, o := range c.Options {
		if name, ok := strings.CutPrefix(o, "--account="); ok {
			return name
		}
		if (o == "-A" || o == "--account") && i+1 < len(c.Options) {
			return c.Options[i+1]
		}
	}
	return ""
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// judgeProbe says what of it works.
func judgeProbe(c *config.Cluster, host string, said map[string][]string) []finding {
	value := func(key string) string { return cmp.Or(said[key]...) }
	where := cmp.Or(host, "this machine")
	found := []finding{{Check: "reach", OK: true, Needed: true,
		Detail: fmt.Sprintf("%s, %s %s, %s cores", where, value("os"), value("arch"), value("cores"))}}
	if arch := value("arch"); arch != "x86_64" && arch != "aarch64" || value("os") != "Linux" {
		found[0].OK, found[0].Fix = false, "Godwit runs on Linux on x86_64 and aarch64 only"
	}
	dir := finding{Check: "folder", OK: said["dir"] != nil, Needed: true, Detail: cmp.Or(value("dir"), value("nodir"))}
	var kib int64
	if _, err := fmt.Sscan(value("free"), &kib); err == nil {
		dir.Detail += fmt.Sprintf(", %.1f GiB free", float64(kib)/(1<<20))
	}
	if !dir.OK {
		dir.Fix = "set dir: in the settings to a folder that you may write to and that all hosts of the cluster see"
	}
	found = append(found, dir)
	if host != "" {
		f := finding{Check: "program", OK: true, Detail: "Godwit's own is there"}
		if said["binary"] == nil {
			f.Detail = "Godwit's own is copied there at the first connection"
		}
		found = append(found, f)
	}
	found = append(found, judgeManager(c, said)...)
	box := finding{Check: "sandbox", OK: said["userns"] != nil,
		Detail: "user namespaces are there: programs can be saved in a sandbox"}
	if !box.OK {
		box.Detail = "no user namespaces: programs cannot be saved in a sandbox"
		box.Fix = "as root there: sysctl -w user.max_user_namespaces=15000 kernel.unprivileged_userns_clone=1"
	}
	if c.Driver != config.Local {
		box.Detail += " (looked at where jobs are submitted)"
	}
	return append(found, box)
}

// judgeManager says what of the batch system works.
func judgeManager(c *config.Cluster, said map[string][]string) []finding {
	if c.Driver == config.Local {
		return nil
	}
	f := finding{Check: c.Driver, OK: true, Needed: true, Detail: cmp.Or(said["found"]...)}
	switch {
	case said["missing"] != nil:
		f.OK, f.Detail = false, "not found: "+strings.Join(said["missing"], ", ")
		f.Fix = "set commands: in the settings to the folder of the batch system's commands, or env: to what they need"
	case said["failed"] != nil:
		f.OK, f.Detail, f.Fix = false, said["failed"][0], "the batch system must answer there: try the command by hand"
	}
	list := []finding{f}
	if !f.OK {
		return list
	}
	is := func(check, name string, there []string) {
		if name == "" || there == nil {
			return
		}
		g := finding{Check: check, OK: slices.Contains(there, name), Needed: true, Detail: name}
		if !g.OK {
			g.Detail, g.Fix = name+" is not there", "one of "+strings.Join(there, ", ")
		}
		list = append(list, g)
	}
	is("partition", c.Partition, said["partition"])
	is("parallel environment", c.PE, said["pe"])
	is("account", accountOf(c), said["account"])
	return list
}
