package batch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
)

// The names under which the binaries stand beside each other, as an agent looks
// for the second.
const (
	agentName   = "godwit"
	sandboxName = "godwit-sandbox"
)

// binaries are the agent's binary and that of its sandbox, as they were when this
// program came up, where all hosts of the cluster find them: in a folder that is
// named by their content, so that agents that run keep theirs when ours is
// replaced.
type binaries struct {
	from string // the agent's; "": this program
	dir  string

	clock clock.Clock

	mu   sync.Mutex
	path string // once they are there
	said []string
}

// agentPath is the path of the agent's binary for all hosts.
func (b *binaries) agentPath() (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.path != "" && attemptdir.HasFile(b.path) {
		return b.path, nil
	}
	path, err := b.installFiles()
	if err != nil {
		return "", fmt.Errorf("bring the agent to where the cluster finds it: %w", err)
	}
	b.path = path
	return path, nil
}

func (b *binaries) userNotes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.said
}

func (b *binaries) installFiles() (string, error) {
	from, beside := b.from, b.from
	if from == "" {
		from = "/proc/self/exe" // also after its file was replaced
		var err error
		if beside, err = os.Executable(); err != nil {
			return "", err
		}
	}
	files := map[string]string{agentName: from}
	sum := sha256.New()
	if err := addTo(sum, from); err != nil {
		return "", err
	}
	b.said = nil
	sandbox := filepath.Join(filepath.Dir(beside), sandboxName)
	switch err := addTo(sum, sandbox); {
	case err == nil:
		files[sandboxName] = sandbox
	case errors.Is(err, fs.ErrNotExist):
		b.said = []string{"there is no " + sandboxName + " beside " + beside +
			": programs that do not save themselves cannot be saved on the cluster"}
	default:
		return "", err
	}
	home := filepath.Join(b.dir, hex.EncodeToString(sum.Sum(nil))[:16])
	if !attemptdir.HasFile(home) {
		if err := b.copyFiles(files, home); err != nil {
			return "", err
		}
	}
	b.removeOld(home)
	return filepath.Join(home, agentName), nil
}

// copyFiles copies the files to a folder that appears when it is whole.
func (b *binaries) copyFiles(files map[string]string, home string) error {
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return err
	}
	beside, err := os.MkdirTemp(b.dir, ".new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(beside) }() // unless it has taken its place
	for name, from := range files {
		if err := copyProgram(from, filepath.Join(beside, name)); err != nil {
			return err
		}
	}
	if err := os.Rename(beside, home); err != nil && !errors.Is(err, fs.ErrExist) { // another was faster
		return err
	}
	return nil
}

// binariesMaxAge is how long binaries are kept that no attempt needs: another program
// may be about to.
const binariesMaxAge = 7 * 24 * time.Hour

var byContent = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9a-f]{16}|\.new-.*)$`)
})

// removeOld removes what earlier versions left and no attempt refers to.
func (b *binaries) removeOld(current string) {
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return // there is nothing to be removed then
	}
	var old []string
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && byContent().MatchString(e.Name()) && filepath.Join(b.dir, e.Name()) != current &&
			b.clock.Since(info.ModTime()) > binariesMaxAge {
			old = append(old, e.Name())
		}
	}
	if len(old) == 0 {
		return
	}
	scripts, err := filepath.Glob(filepath.Join(escapePattern(filepath.Dir(b.dir)), "attempts", "*", scriptFile))
	if err != nil {
		return
	}
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		if err != nil {
			return // better too many than too few
		}
		old = slices.DeleteFunc(old, func(name string) bool { return strings.Contains(string(text), "/"+name+"/") })
	}
	for _, name := range old {
		_ = os.RemoveAll(filepath.Join(b.dir, name)) // what is left is tried next time
	}
}

// escapePattern makes a pattern of a path.
func escapePattern(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

func addTo(sum hash.Hash, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(sum, f)
	_ = f.Close() // only read from
	return err
}

func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read from
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}
