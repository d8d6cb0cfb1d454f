package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
)

// ownFolders are at the top of the sandbox and not the host's.
var ownFolders = []string{"dev", "proc", "sys", "tmp", strings.TrimPrefix(Workdir, "/")}

// hidden are at the top of a host and of no use to a program.
var hidden = []string{"boot", "lost+found"}

// describeProgram says how a new program is run: as whom, with what arguments and
// surroundings, and which of the host's folders it can read.
func describeProgram(p *checkpoint.Program) (record, error) {
	r := record{
		Format:      recordFormat,
		UID:         os.Geteuid(),
		GID:         os.Getegid(),
		Env:         programEnvironment(p.Env, p.Dir, p.Report),
		Report:      p.Report != "",
		CPUFeatures: p.CPUFeatures,
		Limits:      resourceLimits(p.Limits),
		GPUs:        len(p.GPUs) > 0,
	}
	if r.GPUs {
		r.GPUDriver = driverVersion()
	}
	if p.Stdin != "" { // opened inside, so that its position is saved with the program
		r.Argv = []string{"/bin/sh", "-c", `exec "$@" <"$0"`, p.Stdin}
	}
	for _, arg := range p.Argv {
		r.Argv = append(r.Argv, translatePath(arg, p.Dir))
	}
	if name, err := os.Hostname(); err == nil {
		r.Hostname = name
	}
	entries, err := os.ReadDir("/")
	if err != nil {
		return r, fmt.Errorf("looking at the host's folders: %w", err)
	}
	for _, e := range entries {
		name, path := e.Name(), "/"+e.Name()
		if slices.Contains(ownFolders, name) || slices.Contains(hidden, name) {
			continue
		}
		switch {
		case e.Type()&os.ModeSymlink != 0:
			if target, err := os.Readlink(path); err == nil {
				r.Links = append(r.Links, link{name, target})
			}
		case e.IsDir() && unix.Access(path, unix.R_OK|unix.X_OK) == nil:
			r.Folders = append(r.Folders, name)
		}
	}
	return r, nil
}

// programEnvironment is what the program sees of env. Folders for temporary and cached
// files that it could not write become its own /tmp.
func programEnvironment(env []string, dir, report string) []string {
	var out []string
	cache, cudaCache := false, false
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		value = translatePath(value, dir)
		if report != "" && value == report {
			value = reportFolder
		}
		switch name {
		case "PWD", "OLDPWD":
			continue
		case "TMPDIR", "XDG_CACHE_HOME", cudaCacheVariable:
			if !isBelow(value, Workdir) && !isBelow(value, "/tmp") {
				value = "/tmp"
			}
		}
		cache = cache || name == "XDG_CACHE_HOME"
		cudaCache = cudaCache || name == cudaCacheVariable
		out = append(out, name+"="+value)
	}
	if !cache {
		out = append(out, "XDG_CACHE_HOME=/tmp/.cache")
	}
	if !cudaCache {
		out = append(out, cudaCacheVariable+"=/tmp/.nv")
	}
	return append(out, "PWD="+Workdir)
}

// cudaCacheVariable names the folder in which NVIDIA's driver keeps what it has compiled,
// else one in the home folder.
const cudaCacheVariable = "CUDA_CACHE_PATH"

// translatePath replaces the name that the work folder has on this host, wherever it
// stands in s, by the one it has inside.
func translatePath(s, dir string) string {
	if dir == "/" || !strings.Contains(s, dir) {
		return s
	}
	var b strings.Builder
	for {
		i := strings.Index(s, dir)
		if i < 0 {
			return b.String() + s
		}
		end := i + len(dir)
		b.WriteString(s[:i])
		if (i == 0 || !inName(s[i-1])) && (end == len(s) || s[end] == '/' || !inName(s[end])) {
			b.WriteString(Workdir)
		} else {
			b.WriteString(dir)
		}
		s = s[end:]
	}
}

// inName says whether a byte may belong to the name of a file, so that
// /work/job1 is not found in /work/job10.
func inName(c byte) bool {
	return c == '_' || c == '-' || c == '.' || c == '/' || c >= 0x80 ||
		c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// isBelow says whether path is dir or lies in it.
func isBelow(path, dir string) bool {
	path = filepath.Clean(path)
	return path == dir || strings.HasPrefix(path, dir+"/")
}

// resourceLimits are what gVisor enforces by itself: the number of processes and the
// size of a file. The memory of a process tree is a matter of cgroups.
func resourceLimits(l checkpoint.Limits) []rlimit {
	var host unix.Rlimit
	files := uint64(4096)
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &host); err == nil {
		files = min(host.Max, 1<<20)
	}
	out := []rlimit{{Type: "RLIMIT_NOFILE", Soft: min(files, 1024), Hard: files}}
	if n := l.Processes; n > 0 {
		out = append(out, rlimit{Type: "RLIMIT_NPROC", Soft: uint64(n), Hard: uint64(n)})
	}
	if n := l.FileSize; n > 0 {
		out = append(out, rlimit{Type: "RLIMIT_FSIZE", Soft: uint64(n), Hard: uint64(n)})
	}
	return out
}
