package proctree

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"golang.org/x/sys/unix"
)

// What a shell says of a program that it cannot run.
const (
	notFound      = 127
	notExecutable = 126
)

func launchError(code int, format string, args ...any) error {
	return &checkpoint.LaunchError{Code: code, Why: fmt.Sprintf(format, args...)}
}

// findProgram is the file that a command names: a path, from the folder it is to run
// in, or a name that is looked for along PATH of its own environment.
func findProgram(argv, env []string, dir string) (string, error) {
	if len(argv) == 0 || argv[0] == "" {
		return "", launchError(notFound, "no program was named")
	}
	if err := checkDir(dir); err != nil {
		return "", err
	}
	name := argv[0]
	if strings.Contains(name, "/") {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		return path, checkExecutable(name, path)
	}
	var first error // why one that was found cannot be run
	folders := filepath.SplitList(pathOf(env))
	for _, folder := range folders {
		path := filepath.Join(dir, folder, name)
		if filepath.IsAbs(folder) {
			path = filepath.Join(folder, name)
		}
		err := checkExecutable(name, path)
		if err == nil {
			return path, nil
		}
		var launch *checkpoint.LaunchError
		if first == nil && errors.As(err, &launch) && launch.Code == notExecutable && isThere(path) {
			first = err
		}
	}
	if first != nil {
		return "", first
	}
	if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
		return "", launchError(notFound, "%s: not found in PATH; the file in the working directory is ./%s", name, name)
	}
	return "", launchError(notFound, "%s: not found in PATH (%s)", name, strings.Join(folders, ", "))
}

// isThere says whether there is such a file, as far as we can see: a folder of PATH that
// may not be looked into has none for us.
func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// pathOf is PATH of an environment; the last one set counts. Without one it is
// what login gives.
func pathOf(env []string) string {
	path := "/usr/local/bin:/usr/bin:/bin"
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			path = v
		}
	}
	return path
}

func checkDir(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err == nil {
		err = unix.Access(dir, unix.X_OK)
	}
	if err != nil {
		return fmt.Errorf("the folder to run in, %s: %w", dir, err)
	}
	return nil
}

// checkExecutable looks at a file that is to be executed.
func checkExecutable(name, path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(path); err == nil {
			return launchError(notFound, "%s: a link to something that does not exist", name)
		}
		return launchError(notFound, "%s: no such file", name)
	case errors.Is(err, syscall.ENOTDIR):
		return launchError(notFound, "%s: part of the path is a file, not a folder", name)
	case err != nil:
		return launchError(notExecutable, "%s: %v", name, bareError(err))
	case info.IsDir():
		return launchError(notExecutable, "%s: is a folder", name)
	case !info.Mode().IsRegular():
		return launchError(notExecutable, "%s: is not a file that can be executed", name)
	case unix.Access(path, unix.X_OK) != nil:
		return launchError(notExecutable, "%s: not executable (chmod +x would make it so)", name)
	}
	return nil
}

// bareError is an error without the call and the path.
func bareError(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// whyNot makes of the kernel's refusal to execute a sentence that names what is
// wrong.
func whyNot(s *Spec, path string, err error) error {
	name := s.Argv[0]
	if check := checkExecutable(name, path); check != nil {
		return check
	}
	switch {
	case errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EMFILE) ||
		errors.Is(err, syscall.ENFILE):
		return fmt.Errorf("starting %s: %w", name, err) // this machine's fault, not the program's
	case errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTDIR):
		if interpreter := scriptInterpreter(path); interpreter != "" {
			hint := ""
			if strings.HasSuffix(interpreter, "\r") {
				hint = "; its lines end as in Windows"
			}
			return launchError(notFound, "%s: its interpreter %s does not exist%s", name, strings.TrimRight(interpreter, "\r"),
				hint)
		}
		if loader := loaderOf(path); loader != "" {
			return launchError(notFound, "%s: was linked for another system: its loader %s does not exist here", name, loader)
		}
		return launchError(notFound, "%s: %v", name, bareError(err))
	case errors.Is(err, syscall.EACCES):
		if interpreter := scriptInterpreter(path); interpreter != "" {
			return launchError(notExecutable, "%s: its interpreter %s cannot be executed", name, interpreter)
		}
		return launchError(notExecutable, "%s: may not be executed (is it on a file system mounted noexec?)", name)
	case errors.Is(err, syscall.ENOEXEC), errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.ELIBBAD):
		return launchError(notExecutable, "%s: %s", name, formatProblem(path))
	case errors.Is(err, syscall.E2BIG):
		return launchError(notExecutable, "%s: its arguments and environment are too long", name)
	case errors.Is(err, syscall.ETXTBSY):
		return launchError(notExecutable, "%s: is being written to", name)
	case errors.Is(err, syscall.ELOOP):
		return launchError(notExecutable, "%s: its interpreter is a script whose interpreter is a script, and so on", name)
	}
	return launchError(notExecutable, "%s: %v", name, bareError(err))
}

// firstBytes reads the first bytes of a file; what cannot be read is empty.
func firstBytes(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // opened for reading
	buf := make([]byte, 256)
	n, _ := f.Read(buf) // what there is
	return buf[:n]
}

// scriptInterpreter is the interpreter that a script names.
func scriptInterpreter(path string) string {
	line, ok := bytes.CutPrefix(firstBytes(path), []byte("#!"))
	if !ok {
		return ""
	}
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	line = bytes.TrimLeft(line, " \t")
	if i := bytes.IndexAny(line, " \t"); i >= 0 {
		line = line[:i]
	}
	return string(line)
}

// isScript reports whether a file is text that a shell would try.
func isScript(path string) bool {
	head := firstBytes(path)
	return len(head) > 0 && !bytes.HasPrefix(head, []byte("#!")) && bytes.IndexByte(head, 0) < 0 && head[0] != 0x7f
}

// loaderOf is the loader that a dynamically linked program asks for.
func loaderOf(path string) string {
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // opened for reading
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP && p.Filesz < 4096 {
			name := make([]byte, p.Filesz)
			if _, err := p.ReadAt(name, 0); err == nil {
				return string(bytes.TrimRight(name, "\x00"))
			}
		}
	}
	return ""
}

// machines are the names of GOARCH.
var machines = map[elf.Machine]string{
	elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64", elf.EM_386: "386", elf.EM_ARM: "arm",
	elf.EM_PPC64: "ppc64", elf.EM_RISCV: "riscv64", elf.EM_S390: "s390x", elf.EM_LOONGARCH: "loong64",
}

// formatProblem says why a file is not a program for this machine.
func formatProblem(path string) string {
	head := firstBytes(path)
	switch {
	case len(head) == 0:
		return "the file is empty"
	case bytes.HasPrefix(head, []byte("\x7fELF")):
		if len(head) < 20 {
			return "is a damaged program file"
		}
		order := binary.ByteOrder(binary.LittleEndian)
		if head[elf.EI_DATA] == byte(elf.ELFDATA2MSB) {
			order = binary.BigEndian
		}
		machine := elf.Machine(order.Uint16(head[18:]))
		name := machines[machine]
		if name == "" {
			name = machine.String()
		}
		if name != runtime.GOARCH {
			return fmt.Sprintf("is a program for %s, this machine is %s", name, runtime.GOARCH)
		}
		return "is a program file that this system cannot execute"
	case bytes.HasPrefix(head, []byte("MZ")):
		return "is a Windows program"
	case bytes.HasPrefix(head, []byte("\xcf\xfa\xed\xfe")) || bytes.HasPrefix(head, []byte("\xca\xfe\xba\xbe")):
		return "is a macOS program or a Java class"
	}
	return "is neither a program nor a script"
}
