package sandbox

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
)

// The part of an OCI runtime configuration that is used here.
type (
	ociSpec struct {
		Version     string            `json:"ociVersion"`
		Process     ociProcess        `json:"process"`
		Root        ociRoot           `json:"root"`
		Hostname    string            `json:"hostname"`
		Mounts      []ociMount        `json:"mounts"`
		Linux       ociLinux          `json:"linux"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}
	ociProcess struct {
		User         ociUser             `json:"user"`
		Args         []string            `json:"args"`
		Env          []string            `json:"env"`
		Cwd          string              `json:"cwd"`
		Rlimits      []rlimit            `json:"rlimits"`
		Capabilities map[string][]string `json:"capabilities"`
	}
	ociUser struct {
		UID    int   `json:"uid"`
		GID    int   `json:"gid"`
		Groups []int `json:"additionalGids,omitempty"`
	}
	rlimit struct {
		Type string `json:"type"`
		Hard uint64 `json:"hard"`
		Soft uint64 `json:"soft"`
	}
	ociRoot struct {
		Path     string `json:"path"`
		Readonly bool   `json:"readonly"`
	}
	ociMount struct {
		Destination string   `json:"destination"`
		Type        string   `json:"type"`
		Source      string   `json:"source"`
		Options     []string `json:"options,omitempty"`
	}
	ociLinux struct {
		Namespaces []ociNamespace `json:"namespaces"`
		Devices    []ociDevice    `json:"devices,omitempty"`
	}
	ociDevice struct {
		Path     string `json:"path"`
		Type     string `json:"type"`
		Major    uint32 `json:"major"`
		Minor    uint32 `json:"minor"`
		FileMode uint32 `json:"fileMode"`
	}
	ociNamespace struct {
		Type string `json:"type"`
	}
)

// rootCapabilities are what a program started by root expects to be able to do
// with files and processes of its own. The host decides for itself what the
// sandbox may do there.
var rootCapabilities = []string{
	"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL",
	"CAP_SETGID", "CAP_SETUID", "CAP_SETPCAP", "CAP_SYS_CHROOT", "CAP_SYS_NICE",
}

// unknownGroup is the group of all files inside that belong to none of the
// program's. An ordinary user belongs to it: what only a further group of the
// user's may read would else be refused inside, though the host, which knows
// those groups, would give it.
const unknownGroup = 65534

// writeFolders puts the sandbox's folders on disk: the top of the file system, the
// configuration, and the mark by which its processes are found.
func (c cell) writeFolders(p *checkpoint.Program) error {
	for _, dir := range []string{c.rootFolder(), c.bundleFolder(), c.stateFolder(), c.emptyFolder()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for _, name := range append(c.record.Folders, ownFolders...) {
		if err := os.Mkdir(filepath.Join(c.rootFolder(), name), 0o755); err != nil {
			return err
		}
	}
	for _, l := range c.record.Links {
		if err := os.Symlink(l.Target, filepath.Join(c.rootFolder(), l.Name)); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(c.stateFolder(), "mark"), []byte(p.Mark), 0o644); err != nil {
		return err
	}
	config := c.ociConfig(p)
	var err error
	if config.Linux.Devices, err = gpuDevices(p.GPUs); err != nil {
		return err
	}
	text, err := json.MarshalIndent(config, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.bundleFolder(), "config.json"), text, 0o644)
}

// ociConfig is the configuration. But for the places on the host, one made from an
// image equals the one the image was made with: gVisor insists.
func (c cell) ociConfig(p *checkpoint.Program) ociSpec {
	r := c.record
	able, groups := []string{}, []int{unknownGroup}
	if r.UID == 0 {
		able, groups = rootCapabilities, nil
	}
	s := ociSpec{
		Version:  "1.0.0",
		Root:     ociRoot{Path: c.rootFolder(), Readonly: true},
		Hostname: r.Hostname,
		Process: ociProcess{
			User: ociUser{r.UID, r.GID, groups}, Args: r.Argv, Env: r.Env, Cwd: Workdir, Rlimits: r.Limits,
			Capabilities: map[string][]string{
				"bounding": able, "effective": able, "inheritable": able, "permitted": able,
			},
		},
		Mounts: []ociMount{
			{Destination: "/proc", Type: "proc", Source: "proc"},
			{Destination: "/dev", Type: "tmpfs", Source: "tmpfs"},
			{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"ro"}},
			{Destination: "/tmp", Type: "tmpfs", Source: "tmpfs", Options: []string{"mode=1777"}},
			{Destination: "/dev/shm", Type: "tmpfs", Source: "tmpfs", Options: []string{"mode=1777"}},
			{Destination: Workdir, Type: "bind", Source: p.Dir, Options: []string{"rbind", "rw"}},
		},
		Linux: ociLinux{Namespaces: []ociNamespace{{"pid"}, {"ipc"}, {"uts"}, {"mount"}, {"network"}}},
	}
	if r.Report {
		s.Mounts = append(s.Mounts, ociMount{Destination: reportFolder, Type: "bind", Source: p.Report,
			Options: []string{"rbind", "rw"}})
	}
	for _, name := range r.Folders {
		source := "/" + name
		if info, err := os.Stat(source); err != nil || !info.IsDir() {
			source = c.emptyFolder()
		}
		s.Mounts = append(s.Mounts, ociMount{Destination: "/" + name, Type: "bind", Source: source,
			Options: []string{"rbind", "ro"}})
	}
	if r.CPUFeatures != nil {
		s.Annotations = map[string]string{"dev.gvisor.internal.cpufeatures": strings.Join(r.CPUFeatures, ",")}
	}
	return s
}
