package outpost

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/driver/remote/talk"
)

// sends sends a part of the sandbox, as a broker would, and then cuts the stream
// unless it is all. It says how much was there before.
func (b *broker) sends(box *talk.Binary, content []byte, most int) (had int64, err error) {
	b.t.Helper()
	s, err := b.link.OpenStream()
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	a := new(talk.Answer)
	if err := errors.Join(talk.SendMessage(s, &talk.Request{Do: talk.Equip, Binary: box}),
		talk.ReceiveMessage(s, a)); err != nil {
		b.t.Fatal(err)
	}
	if a.ToError() != nil || a.Have == box.Size {
		return a.Have, a.ToError()
	}
	rest := content[a.Have:min(int(a.Have)+most, len(content))]
	z, err := zstd.NewWriter(s)
	if err == nil {
		_, err = z.Write(rest)
	}
	if err := errors.Join(err, z.Close()); err != nil {
		b.t.Fatal(err)
	}
	if int(a.Have)+len(rest) < len(content) {
		return a.Have, nil
	}
	last := new(talk.Answer)
	if err := talk.ReceiveMessage(s, last); err != nil {
		b.t.Fatal(err)
	}
	return a.Have, last.ToError()
}

func TestTheSandboxComesAfterTheOutpostAndGoesOnWhereItBroke(t *testing.T) {
	root := t.TempDir()
	bin := filepath.Join(root, "leeds", "bin", "0123456789abcdef")
	other := filepath.Join(root, "york", "bin", "fedcba9876543210")
	if err := errors.Join(os.MkdirAll(bin, 0o700), os.MkdirAll(other, 0o700)); err != nil {
		t.Fatal(err)
	}
	content := make([]byte, 3<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(content)
	sum := sha256.Sum256(content)
	box := &talk.Binary{Sum: hex.EncodeToString(sum[:]), Size: int64(len(content))}
	h := hello("local", "there")
	h.Sandbox = true

	b := visitAt(t, t.TempDir(), bin)
	if w := b.greet(h); w.Error != "" {
		t.Fatal(w.Error)
	}
	// It is up; only what depends on the sandbox waits for it.
	if a, _, err := b.link.SendRequest(t.Context(), &talk.Request{Do: talk.Find}, nil); err != nil || a.ToError() != nil {
		t.Errorf("%+v %v", a, err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := b.link.SendRequest(short, &talk.Request{Do: talk.Survey}, nil); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("the survey did not wait: %v", err)
	}
	if had, err := b.sends(box, content, 1<<20); had != 0 || err != nil {
		t.Error(had, err)
	}
	// Damaged on the way: it is found, and comes from the beginning.
	wrong := bytes.Clone(content)
	wrong[2<<20]++
	var had int64
	var err error
	clocktest.WaitFor(t, "the one before to be noticed to have gone", func() bool {
		had, err = b.sends(box, wrong, 3<<20)
		return had == 1<<20
	}, func() string { return fmt.Sprintf("%d bytes are there: %v", had, err) })
	if err == nil {
		t.Error("what was damaged is taken")
	}
	if had, err := b.sends(box, content, 3<<20); had != 0 || err != nil {
		t.Error(had, err)
	}
	if a, _, err := b.link.SendRequest(t.Context(), &talk.Request{Do: talk.Survey}, nil); err != nil ||
		a.ToError() != nil {
		t.Errorf("%+v %v", a, err)
	}
	// Another cluster of the same machine has it at once.
	b = visitAt(t, t.TempDir(), other)
	if w := b.greet(h); w.Error != "" {
		t.Fatal(w.Error)
	}
	if had, err := b.sends(box, content, 0); had != box.Size || err != nil {
		t.Error(had, err)
	}
	for _, dir := range []string{bin, other} {
		if got, err := os.ReadFile(filepath.Join(dir, sandboxName)); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes: %v", dir, len(got), err)
		}
		if info, err := os.Stat(filepath.Join(dir, sandboxName)); err != nil || info.Mode().Perm() != 0o700 {
			t.Error(info, err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
			t.Errorf("%v is left", left)
		}
	}
}
