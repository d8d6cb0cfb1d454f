package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/cli/connect"
	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/driver/local"
	"github.com/godwit-hpc/godwit/internal/host/cgroup"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint/sandbox"
	"github.com/godwit-hpc/godwit/internal/live/config"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// finding is what came of one check.
type finding struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Needed bool   `json:"needed"` // without it jobs do not run at all
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"` // the command, or what to do, that would make it work
}

func (a *app) doctorCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what works here, what does not, and what would fix it",
		Long: `Tries what Godwit needs and could use on this machine, and says for everything that
does not work what it is good for and what would fix it. It starts no broker.

Exit code 1 if something is missing without which jobs cannot run.`,
		Example: `  godwit doctor
  godwit doctor -o json`,
		Args: term.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found := a.diagnoseAll(cmd.Context())
			if output == "json" {
				if err := term.WriteJSON(a.Stdout, found); err != nil {
					return err
				}
			} else if err := a.printFindings(found); err != nil {
				return err
			}
			for _, f := range found {
				if f.Needed && !f.OK {
					return term.ExitCode(term.ExitFailed)
				}
			}
			return nil
		},
	}
	term.GroupFlags(cmd, term.OutputGroup(&output))
	return cmd
}

// paintMarks colours the first column of the findings.
func paintMarks(column, cell string) string {
	if column != "" {
		return cell
	}
	return map[string]string{"ok": term.Green, "no": term.Yellow, "FAIL": term.Red}[cell] + cell + term.Plain
}

func (a *app) printFindings(found []finding) error {
	t := term.NewTable("", "check", "what was found")
	if a.UsesColour() {
		t.Paint = paintMarks
	}
	for _, f := range found {
		mark, text := "ok", f.Detail
		switch {
		case !f.OK && f.Needed:
			mark = "FAIL"
		case !f.OK:
			mark = "no"
		}
		if !f.OK && f.Fix != "" {
			text += " → " + f.Fix
		}
		t.AddRow(mark, f.Check, text)
	}
	return t.PrintTable(a.Stdout, a.TerminalWidth())
}

// diagnoseAll tries everything.
func (a *app) diagnoseAll(ctx context.Context) []finding {
	state, err := api.StateDir()
	if err != nil {
		return []finding{{Check: "state folder", Needed: true, Detail: err.Error(), Fix: "export GODWIT_STATE=/some/folder"}}
	}
	return append([]finding{
		a.checkProcessors(), a.checkSettings(ctx, state), checkState(state), checkSocket(state), a.checkBroker(ctx, state),
		a.checkShared(ctx),
		checkSandbox(ctx), checkGPUs(ctx), checkNamespaces(), checkCgroups(), a.checkClock(),
	}, checkTools(ctx)...)
}

func (a *app) checkProcessors() finding {
	cpus, err := local.UsableCPUs()
	if err != nil || len(cpus) == 0 {
		return finding{"cores", false, true, fmt.Sprintf("none can be used (%v)", err),
			"taskset -pc $$ shows what this shell may use"}
	}
	text := term.PluralNoun(int64(len(cpus)), "core")
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		if fields := strings.Fields(string(load)); len(fields) > 0 {
			text += ", load " + fields[0]
		}
	}
	return finding{"cores", true, true, text, ""}
}

// brokerInUse is the socket of the broker that commands ask now; "" if none runs.
func (a *app) brokerInUse(ctx context.Context, state string) string {
	if socket := os.Getenv(api.SocketSetting); socket != "" {
		return socket
	}
	own := api.SocketPath(state)
	c := a.DialFor(own, lookTimeout)
	defer c.Close()
	switch _, err := c.PingBroker(ctx); {
	case !connect.NobodyThere(err):
		return own
	case os.Getenv("GODWIT_STATE") == "" && a.brokerAnswers(ctx, api.SharedSocket):
		return api.SharedSocket
	}
	return ""
}

// checkSettings says which clusters there are: those of the broker that is in use, which
// may have other settings than this command finds, or else those of the settings.
func (a *app) checkSettings(ctx context.Context, state string) finding {
	f := finding{Check: "settings", Needed: true}
	if socket := a.brokerInUse(ctx, state); socket != "" {
		c := a.DialFor(socket, lookTimeout)
		defer c.Close()
		if clusters, err := c.ListClusters(ctx); err == nil {
			var names []string
			for i := range clusters {
				names = append(names, clusters[i].Name)
			}
			f.OK = true
			f.Detail = fmt.Sprintf("%s of the broker that runs: %s", term.PluralNoun(int64(len(names)), "cluster"),
				strings.Join(names, ", "))
			if notes := clusterNotes(clusters); notes != "" {
				f.OK, f.Needed = false, false // jobs run all the same
				f.Detail += "; " + notes
			}
			if ping, err := c.PingBroker(ctx); err == nil && ping.Stale {
				f.OK, f.Needed = false, false // jobs run all the same
				f.Detail, f.Fix = f.Detail+"; "+settingsAreNewer, "godwit reload"
			}
			return f
		}
	}
	cpus, err := local.UsableCPUs()
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	cfg, err := config.LoadSettings("", os.Getenv, cpus)
	if err != nil {
		f.Detail, f.Fix = err.Error(), "correct the file; examples/config/two-clusters.yaml has every field"
		return f
	}
	f.OK, f.Detail = true, term.PluralNoun(int64(len(cfg.Clusters)), "cluster")+" from "+cfg.File
	if cfg.File == "" {
		f.Detail = "none: this machine is one cluster"
	}
	return f
}

// clusterNotes is what of the settings of clusters does not hold.
func clusterNotes(clusters []api.Cluster) string {
	var notes []string
	for i := range clusters {
		for _, n := range clusters[i].Notes {
			notes = append(notes, clusters[i].Name+": "+n)
		}
	}
	return strings.Join(notes, "; ")
}

// fileSystems are those worth telling apart, by their magic number.
var fileSystems = map[int64]string{
	unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs", unix.TMPFS_MAGIC: "tmpfs",
	unix.OVERLAYFS_SUPER_MAGIC: "overlay", unix.NFS_SUPER_MAGIC: "nfs", 0xff534d42: "cifs", 0x65735546: "fuse",
	0x0bd00bd0: "lustre", 0x47504653: "gpfs", 0x19830326: "beegfs",
	0x2fc12fc1: "zfs",
}

// shared are the file systems on which locks of the store cannot be relied on.
var shared = map[string]bool{"nfs": true, "cifs": true, "fuse": true, "lustre": true, "gpfs": true, "beegfs": true}

func checkState(state string) finding {
	f := finding{Check: "state folder", Needed: true}
	if err := os.MkdirAll(state, 0o700); err != nil {
		f.Detail, f.Fix = err.Error(), "export GODWIT_STATE=/some/folder"
		return f
	}
	try, err := os.CreateTemp(state, ".try-")
	if err != nil {
		f.Detail, f.Fix = state+" cannot be written: "+err.Error(), "chmod u+rwx "+state+
			", or export GODWIT_STATE=/some/folder"
		return f
	}
	_ = try.Close()
	_ = os.Remove(try.Name())
	var fs unix.Statfs_t
	if err := unix.Statfs(state, &fs); err != nil {
		f.Detail = err.Error()
		return f
	}
	kind, known := fileSystems[int64(fs.Type)] //nolint:unconvert // its size differs between architectures
	if !known {
		kind = fmt.Sprintf("file system %#x", fs.Type)
	}
	free := int64(fs.Bavail) * int64(fs.Bsize) //nolint:unconvert // their sizes differ between architectures
	f.OK, f.Detail = true, fmt.Sprintf("%s on %s, %s free", state, kind, term.BytesText(free))
	const little = 1 << 30
	switch {
	case shared[kind]:
		f.OK, f.Needed = false, false
		f.Detail += "; locks cannot be relied on there"
		f.Fix = "export GODWIT_STATE=/a/local/folder"
	case free < little:
		f.OK, f.Needed, f.Fix = false, false, "make room, or export GODWIT_STATE=/some/folder: checkpoints are kept there"
	}
	return f
}

func checkSocket(state string) finding {
	path := api.SocketPath(state)
	if filepath.Dir(path) != state {
		return finding{"socket", true, true, path + ", because the path of the state folder is too long for one", ""}
	}
	return finding{"socket", true, true, path, ""}
}

func (a *app) checkBroker(ctx context.Context, state string) finding {
	c := a.DialFor(api.SocketPath(state), lookTimeout)
	defer c.Close()
	ping, err := c.PingBroker(ctx)
	switch {
	case connect.NobodyThere(err):
		switch socket := a.brokerInUse(ctx, state); socket {
		case "":
			return finding{"broker", true, false, "none runs; the first job starts one", ""}
		case api.SharedSocket:
			return finding{"broker", true, false, "none of your own; jobs go to the shared broker", ""}
		default:
			return finding{"broker", true, false, "none of your own; jobs go to the one at " + socket + " (" +
				api.SocketSetting + ")", ""}
		}
	case err != nil:
		return finding{"broker", false, true, err.Error(), "godwit up --stop; godwit up"}
	case ping.Version != a.Version:
		return finding{"broker", false, false,
			fmt.Sprintf("process %d runs version %s, this is %s", ping.PID, ping.Version, a.Version),
			"godwit up --stop; the next job starts a new one"}
	}
	return finding{"broker", true, false,
		fmt.Sprintf("process %d, %s", ping.PID, term.PluralNoun(int64(ping.Jobs), "job")), ""}
}

// checkShared looks for a broker of all users of this machine.
func (a *app) checkShared(ctx context.Context) finding {
	socket := cmp.Or(os.Getenv(api.SocketSetting), api.SharedSocket)
	switch err := api.CheckTrusted(socket); {
	case errors.Is(err, fs.ErrNotExist):
		return finding{"shared broker", true, false, "none on this machine", ""}
	case err != nil:
		return finding{"shared broker", false, false, err.Error(), "ask root: docs/guides/shared.md"}
	}
	c := a.DialFor(socket, lookTimeout)
	defer c.Close()
	ping, err := c.PingBroker(ctx)
	if err != nil {
		return finding{"shared broker", false, false, err.Error(), "ask root: docs/guides/shared.md"}
	}
	return finding{"shared broker", true, false,
		fmt.Sprintf("process %d on %s, %s of all users", ping.PID, socket, term.PluralNoun(int64(ping.Jobs), "job")), ""}
}

func checkSandbox(ctx context.Context) finding {
	f := finding{Check: "sandbox"}
	path, err := sandbox.FindBinary()
	if err != nil {
		f.Detail, f.Fix = "programs that do not save themselves cannot be saved: "+err.Error(),
			"make sandbox, and put build/godwit-sandbox beside godwit"
		return f
	}
	ok, why := sandbox.IsAvailable(ctx)
	if !ok {
		f.Detail, f.Fix = "programs that do not save themselves cannot be saved: "+why, "see user namespaces below"
		return f
	}
	f.OK, f.Detail = true, path+" runs and saves programs"
	return f
}

// checkGPUs says whether programs that use the GPUs of this machine can be migrated.
func checkGPUs(ctx context.Context) finding {
	f := finding{Check: "GPU programs", OK: true}
	gpus := len(sandbox.DeviceFiles())
	if gpus == 0 {
		f.Detail = "there is no NVIDIA GPU here"
		return f
	}
	ok, why := sandbox.CanSaveGPUs(ctx)
	if !ok {
		f.OK = false
		f.Detail = "they run, but are migrated by a restart from the beginning: " + why
		f.Fix = "docs/guides/run.md, GPU programs"
		return f
	}
	f.Detail = fmt.Sprintf("programs that use the %s here can be saved and migrated",
		term.PluralNoun(int64(gpus), "NVIDIA GPU"))
	return f
}

// checkNamespaces makes a user namespace, which the sandbox needs where we are
// not root.
func checkNamespaces() finding {
	f := finding{Check: "user namespaces"}
	self, err := os.Executable()
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	cmd := exec.Command(self, "version")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if err := cmd.Run(); err != nil {
		f.OK = os.Getuid() == 0
		f.Detail, f.Fix = "cannot be made: "+err.Error(),
			"sudo sysctl kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0 (those that exist)"
		if f.OK {
			f.Detail += "; not needed as root"
		}
		return f
	}
	f.OK, f.Detail = true, "can be made"
	return f
}

// firstReason is the first of several reasons, which all come from the same fact, without
// what was tried: "permission denied".
func firstReason(why string) string {
	first, _, _ := strings.Cut(term.OneLine(why), "; ")
	return first[strings.LastIndex(": "+first, ": "):]
}

func checkCgroups() finding {
	can := cgroup.ProbeAbility()
	var have []string
	for _, c := range []struct {
		ok   bool
		what string
	}{{can.CPU, "CPU time"}, {can.CPUs, "choice of cores"}, {can.Memory, "memory"}, {can.Pids, "processes"},
		{can.Usage, "measuring"}, {can.Kill, "ending as a whole"}} {
		if c.ok {
			have = append(have, c.what)
		}
	}
	f := finding{Check: "cgroups", OK: can.Why == "", Detail: strings.Join(have, ", ")}
	if f.OK {
		return f
	}
	f.Detail = "none may be created here (" + firstReason(can.Why) + "): jobs are kept apart by affinity and niceness only"
	if len(have) > 0 {
		f.Detail = strings.Join(have, ", ") + " only (" + firstReason(can.Why) + ")"
	}
	f.Fix = "as root, or: systemd-run --user --scope -p Delegate=yes godwit up"
	return f
}

// checkClock asks the kernel whether the clock is kept right: deadlines that are
// moments, and logs of several machines, depend on it.
func (a *app) checkClock() finding {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	now := a.Now().Format("2006-01-02 15:04:05 MST")
	const unsynchronised = 5 // TIME_ERROR
	if err == nil && state == unsynchronised {
		return finding{"clock", false, false, now + ", not synchronised (no NTP)", "sudo timedatectl set-ntp true"}
	}
	return finding{"clock", true, false, now, ""}
}
