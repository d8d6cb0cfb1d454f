package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/lab/accounts"
)

// Lab is one that was made. Its folder is the file system that all its hosts
// share; it has the same path inside.
type Lab struct {
	Name     string
	Dir      string
	File     string // the plan's
	Users    []accounts.User
	Head     *Host
	Site     *Site // of the head
	Clusters []*Cluster
	Switch   Process // holds the network namespace of bridges

	groups *groups
}

// Cluster is hosts at one site.
type Cluster struct {
	Name    string
	Manager string
	Cores   int // of each host, as its manager counts
	Share   Share
	Head    *Host
	Hosts   []*Host
	Site    *Site
}

// Site is a bridge and what connects it to the other sites.
type Site struct {
	Name  string
	Index int
	WAN   Link // the way to another site is half of its delay and half of the other's
	Cut   bool
}

// Host is a host of the lab.
type Host struct {
	Name    string
	Site    string
	Address netip.Addr
	Index   int
	CPUs    float64 // 0: not limited
	Pin     int     // the processor to which it is bound; -1: to none
	Mbps    float64
	Memory  int64
	Init    Process // zero while the host is down
	Cut     bool    // from the network
	Load    int     // busy loops that were put onto it
	Frozen  bool
	// Pairs limits what it sends to single hosts, in Mbit/s; 0: not limited.
	Pairs map[string]float64 `json:",omitempty"`

	lab *Lab
}

// Process is one that can be told from a later one of the same number.
type Process struct {
	PID   int
	Start uint64 // clock ticks since the machine was started
}

// IsAlive reports whether the process runs.
func (p Process) IsAlive() bool { return p.PID > 0 && startOf(p.PID) == p.Start }

// processNow is the one that has a number now.
func processNow(pid int) Process { return Process{pid, startOf(pid)} }

// startOf is when a process was started; 0 if there is none, or it has ended.
func startOf(pid int) uint64 {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	// The name, in brackets, may contain anything.
	rest := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(rest) < 20 || rest[0] == "Z" || rest[0] == "X" {
		return 0
	}
	start, err := strconv.ParseUint(rest[19], 10, 64)
	if err != nil {
		return 0
	}
	return start
}

// BaseFolder is the folder in which labs have theirs: GODWIT_LABS, or one that
// ordinary users can look into, as the home folders of a lab's users are there.
func BaseFolder() string {
	if dir := os.Getenv("GODWIT_LABS"); filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return defaultBase
}

const defaultBase = "/var/lib/godwit-labs"

// stateFile is in a lab's folder.
const stateFile = "lab.json"

// ErrNone is that there is no such lab.
var ErrNone = errors.New("no such lab")

// Open finds a lab that was made.
func Open(name string) (*Lab, error) {
	if err := goodName("a lab", name, maxLabName); err != nil {
		return nil, err
	}
	return openDir(filepath.Join(BaseFolder(), name))
}

func openDir(dir string) (*Lab, error) {
	data, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrNone, filepath.Base(dir))
	}
	if err != nil {
		return nil, err
	}
	l := &Lab{}
	if err := json.Unmarshal(data, l); err != nil {
		return nil, fmt.Errorf("reading what is known of the lab %s: %w", filepath.Base(dir), err)
	}
	if l.Dir != dir || l.Head == nil || l.Site == nil {
		return nil, fmt.Errorf("%s is not that of a lab", filepath.Join(dir, stateFile))
	}
	if l.groups, err = findGroups(filepath.Dir(dir), l.Name); err != nil {
		return nil, err
	}
	for h := range l.eachHost {
		h.lab = l
	}
	return l, nil
}

// ListLabs is the names of all labs, in order.
func ListLabs() ([]string, error) {
	entries, err := os.ReadDir(BaseFolder())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && goodName("", e.Name(), maxLabName) == nil && refuseForeign(BaseFolder(), e.Name()) == nil {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// ListRemains is the names of all labs and of those of which only something is left, as
// who made or removed them was killed, in order.
func ListRemains() ([]string, error) {
	base := BaseFolder()
	names, err := groupedLabs(base)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(base)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		lock := strings.TrimSuffix(strings.TrimPrefix(e.Name(), "."), lockSuffix)
		switch {
		case e.IsDir() && refuseForeign(base, e.Name()) == nil:
			names = append(names, e.Name())
		case filepath.Join(base, e.Name()) == lockPath(base, lock):
			names = append(names, lock)
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return goodName("", name, maxLabName) != nil })
	slices.Sort(names)
	return slices.Compact(names), nil
}

// saveState writes down what others need to find the lab.
func (l *Lab) saveState() error {
	data, err := json.MarshalIndent(l, "", " ")
	if err != nil {
		return err
	}
	part := filepath.Join(l.Dir, stateFile+".part")
	if err := os.WriteFile(part, data, 0o644); err != nil {
		return err
	}
	return os.Rename(part, filepath.Join(l.Dir, stateFile))
}

// changeState does something to the lab that others may do as well, such as to crash
// a host: it looks at the newest state, and writes it down afterwards.
func (l *Lab) changeState(ctx context.Context, do func() error) error {
	unlock, err := lockLab(ctx, filepath.Dir(l.Dir), l.Name)
	if err != nil {
		return err
	}
	defer unlock()
	now, err := openDir(l.Dir)
	if err != nil {
		return err
	}
	l.adoptState(now)
	return errors.Join(do(), l.saveState())
}

// adoptState takes over what changes in the life of a lab. The rest is left alone, as
// others may be reading it: commands are started on hosts meanwhile.
func (l *Lab) adoptState(now *Lab) {
	l.Switch = now.Switch
	for h := range l.eachHost {
		if n, err := now.FindHost(h.Name); err == nil {
			h.CPUs, h.Mbps, h.Init, h.Cut, h.Load, h.Frozen, h.Pairs = n.CPUs, n.Mbps, n.Init, n.Cut, n.Load, n.Frozen, n.Pairs
		}
	}
	for _, s := range l.allSites() {
		if n, err := now.findSite(s.Name); err == nil {
			s.WAN, s.Cut = n.WAN, n.Cut
		}
	}
}

// lockLab is held by whoever makes, changes or removes a lab.
func lockLab(ctx context.Context, base, name string) (unlock func(), err error) {
	if err := os.MkdirAll(base, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(lockPath(base, name), os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil && !stillThere(f):
			_ = f.Close() // who removed the lab removed it
			return lockLab(ctx, base, name)
		case err == nil:
			return func() { _ = f.Close() }, nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return nil, errors.Join(err, f.Close())
		case !clock.SleepContext(ctx, 10*time.Millisecond):
			return nil, errors.Join(ctx.Err(), f.Close())
		}
	}
}

const lockSuffix = ".lock"

func lockPath(base, name string) string { return filepath.Join(base, "."+name+lockSuffix) }

// stillThere reports whether a file that is open has kept its name.
func stillThere(f *os.File) bool {
	is, err1 := f.Stat()
	there, err2 := os.Stat(f.Name())
	return err1 == nil && err2 == nil && os.SameFile(is, there)
}

// eachHost goes through all hosts, the lab's head first.
func (l *Lab) eachHost(yield func(*Host) bool) {
	if l.Head == nil || !yield(l.Head) {
		return
	}
	for _, c := range l.Clusters {
		for _, h := range c.AllHosts() {
			if !yield(h) {
				return
			}
		}
	}
}

// AllHosts is all hosts, the lab's head first.
func (l *Lab) AllHosts() []*Host { return slices.Collect(l.eachHost) }

// AllHosts is the cluster's hosts, its head first if it has one.
func (c *Cluster) AllHosts() []*Host {
	if c.Head == nil {
		return c.Hosts
	}
	return append([]*Host{c.Head}, c.Hosts...)
}

// FindHost finds a host by its name.
func (l *Lab) FindHost(name string) (*Host, error) {
	for h := range l.eachHost {
		if h.Name == name {
			return h, nil
		}
	}
	return nil, fmt.Errorf("the lab %s has no host %q", l.Name, name)
}

// FindCluster finds a cluster by its name.
func (l *Lab) FindCluster(name string) (*Cluster, error) {
	for _, c := range l.Clusters {
		if c.Name == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("the lab %s has no cluster %q", l.Name, name)
}

// FindUser finds a user of the lab.
func (l *Lab) FindUser(name string) (accounts.User, error) {
	for _, u := range l.Users {
		if u.Name == name {
			return u, nil
		}
	}
	return accounts.User{}, fmt.Errorf("the lab %s has no user %q", l.Name, name)
}

// MakeFolder makes a folder that all hosts see, for something that runs on them.
func (l *Lab) MakeFolder(name string) (string, error) {
	dir := filepath.Join(l.Dir, "var", name)
	return dir, os.MkdirAll(dir, 0o755)
}

// Lab is the lab to which the host belongs.
func (h *Host) Lab() *Lab { return h.lab }

// IsUp reports whether the host runs.
func (h *Host) IsUp() bool { return h.Init.IsAlive() }

// Command runs a program on the host as root. Its environment is that of this
// process; a folder that is set as its Dir must be there inside the host.
func (h *Host) Command(ctx context.Context, argv ...string) *exec.Cmd {
	cmd := h.enterCommand(ctx, entrance{}, argv)
	cmd.Dir = "/"
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TMPDIR=") })
	return cmd
}

// CommandAs runs a program on the host as a user of the lab, or as another that the
// machine knows, in their home folder and with the environment of a login.
func (h *Host) CommandAs(ctx context.Context, user string, argv ...string) *exec.Cmd {
	cmd := h.enterCommand(ctx, entrance{User: user}, argv)
	u, _, err := h.lab.findAccount(user)
	if err != nil {
		cmd.Err = err
		return cmd
	}
	cmd.Dir = u.Home
	cmd.Env = []string{"HOME=" + u.Home, "USER=" + u.Name, "LOGNAME=" + u.Name, "SHELL=/bin/sh", "LANG=C.UTF-8", "PATH=" +
		userPath}
	return cmd
}

const userPath = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

// StartDaemon starts a program on the host as root that stays when this process has
// ended, with variables beside those of this process. What it writes goes to the
// file LogOf(name).
func (h *Host) StartDaemon(ctx context.Context, name string, env []string, argv ...string) error {
	return h.startDetached(ctx, entrance{}, name, append(os.Environ(), env...), argv)
}

// LogOf is the file with what a daemon wrote.
func (h *Host) LogOf(name string) string {
	return filepath.Join(h.lab.Dir, "log", h.Name+"-"+name+".log")
}

func (h *Host) startDetached(ctx context.Context, e entrance, name string, env, argv []string) error {
	log := h.LogOf(name)
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }() // the daemon has its own
	e.Detach = true
	cmd := h.enterCommand(ctx, e, argv)
	cmd.Dir, cmd.Env = "/", env
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("starting %s on %s: %w (see %s)", name, h.Name, err, log)
	}
	return nil
}
