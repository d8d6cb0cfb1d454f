package remote

import (
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// binaries are what is brought to the other end.
type binaries struct {
	godwit  string
	sandbox string // "": there is none

	mu   sync.Mutex
	sums map[string]string // by name over there
	all  string
}

// The names over there. The agent looks for the sandbox beside itself.
const (
	godwitName  = "godwit"
	sandboxName = "godwit-sandbox"
)

// combinedSum is the name of the folder that holds these binaries: their content.
func (b *binaries) combinedSum(o Options) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all != "" {
		return b.all, nil
	}
	if err := b.findPaths(); err != nil {
		return "", err
	}
	sums := map[string]string{}
	all := sha256.New()
	for _, name := range b.binaryNames() {
		sum, err := fileSum(b.binaryPath(name))
		if err != nil {
			return "", err
		}
		sums[name] = sum
		_, _ = fmt.Fprintf(all, "%s %s\n", sum, name) // cannot fail
	}
	b.sums, b.all = sums, hex.EncodeToString(all.Sum(nil))[:16]
	return b.all, nil
}

// findPaths fills in what the options leave open.
func (b *binaries) findPaths() error {
	if b.godwit == "" {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		b.godwit = self
		if _, err := os.Stat(self); err != nil {
			b.godwit = "/proc/self/exe" // its file was replaced
		}
		if b.sandbox == "" {
			b.sandbox = filepath.Join(filepath.Dir(self), sandboxName)
		}
	}
	if b.sandbox == "" {
		b.sandbox = filepath.Join(filepath.Dir(b.godwit), sandboxName)
	}
	if _, err := os.Stat(b.sandbox); err != nil {
		b.sandbox = "" // done without
	}
	return nil
}

// binaryNames are those of all of them. Without the first there is no outpost, which
// takes in the other.
func (b *binaries) binaryNames() []string {
	if b.sandbox == "" {
		return []string{godwitName}
	}
	return []string{godwitName, sandboxName}
}

func (b *binaries) binaryPath(name string) string {
	if name == sandboxName {
		return b.sandbox
	}
	return b.godwit
}

func fileSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// checkArchitecture says what is wrong with a machine on which our binaries do not run.
func checkArchitecture(machine string) error {
	system, arch, _ := strings.Cut(strings.TrimSpace(machine), " ")
	want := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	if system != "Linux" || want != "" && arch != want {
		return fmt.Errorf("that machine is %s %s; this godwit is for Linux %s", system, arch, want)
	}
	return nil
}

// The lines by which the scripts below say what came of it.
const (
	brought = "godwit-was-brought"
	nowhere = "godwit-is-nowhere"
)

// The scripts have the same words. $1: the folder, $2: the sum of the binaries,
// $3: the name, $4: its sum, $5: a word that nobody else has, $6: its size. What
// comes half stays under that word's name and is removed; what is whole takes
// its place at once, whoever else brings the same.
const (
	prepare     = `umask 077; cd && mkdir -p "$1/bin/$2" && t="$1/bin/$2/.$3.$5" && clean() { rm -f "$t"; } && trap clean EXIT && trap "exit 1" HUP INT TERM PIPE && `
	verifySum   = `s=$(sha256sum <"$t") && test "${s%% *}" = "$4"`
	installFile = `chmod 700 "$t" && mv -f "$t" "$1/bin/$2/$3" && echo ` + brought

	// reuseScript looks for the file among those that were brought for another
	// version or another cluster.
	reuseScript = prepare + `for f in "$1"/bin/*/"$3" "$1"/../*/bin/*/"$3"; do if test -f "$f" && test "$(wc -c <"$f")" -eq "$6" && ` +
		`s=$(sha256sum <"$f") && test "${s%% *}" = "$4" && cp "$f" "$t" && ` + verifySum + ` && ` + installFile +
		`; then exit 0; fi; done; echo ` + nowhere

	// bringScript takes it from standard input.
	bringScript = prepare + `gzip -dc >"$t" && if ` + verifySum + `; then ` + installFile +
		`; else echo damaged on the way 1>&2; exit 1; fi`
)

// bringTimeout is how long one binary may take at most. That nothing moves is noticed
// earlier, by ssh.
const bringTimeout = 30 * time.Minute

// bringBinaries brings what an outpost needs to be up; the rest it takes in itself.
func (d *Driver) bringBinaries(sum string, sharing bool) error {
	ctx, cancel := context.WithTimeout(d.ctx, bringTimeout)
	defer cancel()
	reused, err := d.bringOne(ctx, reuseScript, sum, godwitName, sharing)
	if err == nil && !reused {
		d.log.Info("our binary is brought there", "host", d.opt.SSH)
		_, err = d.bringOne(ctx, bringScript, sum, godwitName, sharing)
	}
	if err != nil {
		return fmt.Errorf("bringing %s: %w", godwitName, err)
	}
	return nil
}

// bringOne runs one of the scripts for one binary and says whether it is there.
func (d *Driver) bringOne(ctx context.Context, script, sum, name string, sharing bool) (bool, error) {
	word := make([]byte, 8)
	_, _ = rand.Read(word) // never fails
	f, err := os.Open(d.bin.binaryPath(name))
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	line, err := shellLine(script, d.remoteFolder(), sum, name, d.bin.sums[name], hex.EncodeToString(word),
		strconv.FormatInt(info.Size(), 10))
	if err != nil {
		return false, err
	}
	p, err := d.beginSSH(ctx, line, sharing)
	if err != nil {
		return false, err
	}
	stop := context.AfterFunc(ctx, p.killProcess)
	defer stop()
	if script == bringScript {
		z, _ := gzip.NewWriterLevel(p.in, gzip.BestSpeed) // the level is a valid one
		_, err = io.Copy(z, f)
		err = errors.Join(err, z.Close())
	}
	err = errors.Join(err, p.in.Close())
	said := ""
	if err == nil {
		said, err = p.awaitLine(ctx, brought, nowhere)
	}
	end := p.endProcess()
	if err != nil {
		return false, d.explainFailure(errors.Join(err, end), p.said.String())
	}
	return strings.HasPrefix(said, brought), nil
}
