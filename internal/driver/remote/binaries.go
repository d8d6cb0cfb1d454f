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

// sum is the name of the folder that holds these binaries: their content.
func (b *binaries) sum(o Options) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all != "" {
		return b.all, nil
	}
	if err := b.find(); err != nil {
		return "", err
	}
	sums := map[string]string{}
	all := sha256.New()
	for _, name := range b.names() {
		sum, err := fileSum(b.path(name))
		if err != nil {
			return "", err
		}
		sums[name] = sum
		_, _ = fmt.Fprintf(all, "%s %s\n", sum, name) // cannot fail
	}
	b.sums, b.all = sums, hex.EncodeToString(all.Sum(nil))[:16]
	return b.all, nil
}

// find fills in what the options leave open.
func (b *binaries) find() error {
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

// names are in the order in which they are brought: the last one says that all
// are there.
func (b *binaries) names() []string {
	if b.sandbox == "" {
		return []string{godwitName}
	}
	return []string{sandboxName, godwitName}
}

func (b *binaries) path(name string) string {
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

// fits says what is wrong with a machine on which our binaries do not run.
func fits(machine string) error {
	system, arch, _ := strings.Cut(strings.TrimSpace(machine), " ")
	want := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	if system != "Linux" || want != "" && arch != want {
		return fmt.Errorf("that machine is %s %s; this godwit is for Linux %s", system, arch, want)
	}
	return nil
}

// The line of the script below that says that all went well.
const brought = "godwit-was-brought"

// bringScript takes a file from standard input. $1: the folder, $2: the sum of
// the binaries, $3: the name, $4: its sum, $5: a word that nobody else has. What
// comes half stays under that word's name and is removed; what is whole takes
// its place at once, whoever else brings the same.
const bringScript = `umask 077; cd && mkdir -p "$1/bin/$2" && t="$1/bin/$2/.$3.$5" && clean() { rm -f "$t"; } && trap clean EXIT && ` +
	`trap "exit 1" HUP INT TERM PIPE && gzip -dc >"$t" && s=$(sha256sum <"$t") && ` +
	`if test "${s%% *}" = "$4"; then chmod 700 "$t" && mv -f "$t" "$1/bin/$2/$3" && echo ` + brought + `; else echo damaged on the way 1>&2; exit 1; fi`

// toBring is how long one binary may take at most. That nothing moves is noticed
// earlier, by ssh.
const toBring = 30 * time.Minute

// bring brings what is missing.
func (d *Driver) bring(sum string, sharing bool) error {
	ctx, cancel := context.WithTimeout(d.ctx, toBring)
	defer cancel()
	for _, name := range d.bin.names() {
		if err := d.bringOne(ctx, sum, name, sharing); err != nil {
			return fmt.Errorf("bringing %s: %w", name, err)
		}
	}
	return nil
}

func (d *Driver) bringOne(ctx context.Context, sum, name string, sharing bool) error {
	word := make([]byte, 8)
	_, _ = rand.Read(word) // never fails
	line, err := shellLine(bringScript, d.folder(), sum, name, d.bin.sums[name], hex.EncodeToString(word))
	if err != nil {
		return err
	}
	f, err := os.Open(d.bin.path(name))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	p, err := d.begin(ctx, line, sharing)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, p.kill)
	defer stop()
	z, _ := gzip.NewWriterLevel(p.in, gzip.BestSpeed) // the level is a valid one
	_, err = io.Copy(z, f)
	err = errors.Join(err, z.Close(), p.in.Close())
	if err == nil {
		_, err = p.await(ctx, brought)
	}
	end := p.end()
	if err != nil {
		return d.explain(errors.Join(err, end), p.said.String())
	}
	return nil
}
