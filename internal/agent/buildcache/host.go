package buildcache

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/cpu"
)

// Host is what the result of a build depends on besides the sources.
type Host struct {
	Arch      string   // amd64
	March     string   // level of the processor as compilers call it: x86-64-v3; "": none is known
	Tools     []string // versions of the compilers that are installed
	Libraries []string // versions of those that are needed
}

// MissingError is a library that a host does not have.
type MissingError struct{ Library string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("the library %s is not installed here: neither pkg-config nor the loader knows it", e.Library)
}

// tools are the programs whose versions tell results apart.
var tools = []string{"cc", "c++", "gfortran", "mpicc", "nvcc", "rustc", "go", "ldd"}

// ThisHost looks at this host, with the libraries that are needed.
func ThisHost(ctx context.Context, needs []string) (Host, error) {
	h := Host{Arch: runtime.GOARCH, March: x86Level()}
	for _, t := range tools {
		if v := firstLine(ctx, t, versionFlag(t)); v != "" {
			h.Tools = append(h.Tools, t+" "+v)
		}
	}
	loader := ""
	for _, lib := range needs {
		v := firstLine(ctx, "pkg-config", "--modversion", "--", lib)
		if v == "" {
			if loader == "" {
				text, _ := exec.CommandContext(ctx, "ldconfig", "-p").Output() // where there is none nothing is found
				loader = string(text)
			}
			v = inLoader(loader, lib)
		}
		if v == "" {
			return h, &MissingError{lib}
		}
		h.Libraries = append(h.Libraries, lib+" "+v)
	}
	return h, ctx.Err()
}

func versionFlag(tool string) string {
	if tool == "go" {
		return "version"
	}
	return "--version"
}

// firstLine is what a command says first; "" if it does not exist or fails.
func firstLine(ctx context.Context, argv ...string) string {
	text, err := exec.CommandContext(ctx, argv[0], argv[1:]...).Output() // fixed names, and one argument that is none
	if err != nil {
		return ""
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return strings.ToValidUTF8(strings.TrimSpace(string(line)), "?")
}

// inLoader finds a library among those that the loader knows, by lines such as
// "libm.so.6 (libc6,x86-64) => /lib/libm.so.6"; "" if it is not there.
func inLoader(list, lib string) string {
	for line := range strings.Lines(list) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if rest, ok := strings.CutPrefix(name, "lib"+lib+".so"); ok && (rest == "" || rest[0] == '.') {
			return name
		}
	}
	return ""
}

// x86Level is the level of an x86 processor, by what it can do; on others "".
func x86Level() string {
	if runtime.GOARCH != "amd64" {
		return ""
	}
	x := cpu.X86
	switch {
	case !(x.HasSSE3 && x.HasSSSE3 && x.HasSSE41 && x.HasSSE42 && x.HasPOPCNT && x.HasCX16):
		return "x86-64"
	case !(x.HasAVX && x.HasAVX2 && x.HasBMI1 && x.HasBMI2 && x.HasFMA && x.HasOSXSAVE):
		return "x86-64-v2"
	case !(x.HasAVX512F && x.HasAVX512BW && x.HasAVX512CD && x.HasAVX512DQ && x.HasAVX512VL):
		return "x86-64-v3"
	}
	return "x86-64-v4"
}
