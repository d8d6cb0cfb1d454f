package attemptdir

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/linefile/linefiletest"
)

func mustOpen(t *testing.T, path string, now time.Time) *register {
	t.Helper()
	r, err := openRegister(path, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.closeFile() })
	return r
}

func TestWhatWasReleasedIsKnownForADay(t *testing.T) {
	path, now := filepath.Join(t.TempDir(), "gone"), time.Unix(1e9, 0)
	r := mustOpen(t, path, now)
	old, young := driver.ID{Job: 1, Epoch: 2}, driver.ID{Job: 3, Epoch: 4}
	for _, err := range []error{r.addAttempt(old, now), r.addAttempt(young, now.Add(20*time.Hour)),
		r.addAttempt(young, now.Add(21*time.Hour))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if !r.hasAttempt(old) || !r.hasAttempt(young) || r.hasAttempt(driver.ID{Job: 1, Epoch: 1}) {
		t.Error("it is not known at once")
	}
	again := mustOpen(t, path, now.Add(25*time.Hour))
	if again.hasAttempt(old) || !again.hasAttempt(young) {
		t.Error("a day later the wrong one is known")
	}
	if data, err := os.ReadFile(path); err != nil ||
		string(data) != fmt.Sprintf("3.4 %d\n", now.Add(20*time.Hour).Unix()) {
		t.Errorf("%q %v", data, err)
	}
}

func TestALineThatACrashCutOffIsNotRead(t *testing.T) {
	path, now := filepath.Join(t.TempDir(), "gone"), time.Unix(1e9, 0)
	text := registerLine(driver.ID{Job: 1, Epoch: 1}, now) + "nonsense\n7.7 x\n" +
		registerLine(driver.ID{Job: 2, Epoch: 1}, now)
	if err := os.WriteFile(path, []byte(text[:len(text)-1]), 0o600); err != nil {
		t.Fatal(err)
	}
	r := mustOpen(t, path, now)
	if !r.hasAttempt(driver.ID{Job: 1, Epoch: 1}) || r.hasAttempt(driver.ID{Job: 2, Epoch: 1}) ||
		r.hasAttempt(driver.ID{Job: 7, Epoch: 7}) {
		t.Error("the wrong lines were read")
	}
	if err := r.addAttempt(driver.ID{Job: 2, Epoch: 1}, now); err != nil {
		t.Fatal(err)
	}
	if again := mustOpen(t, path, now); !again.hasAttempt(driver.ID{Job: 2, Epoch: 1}) {
		t.Error("what followed the damage is lost")
	}
}

func TestAReleaseThatAFullDiskDidNotTakeIsWrittenWithTheNext(t *testing.T) {
	path, now := filepath.Join(t.TempDir(), "gone"), time.Unix(1e9, 0)
	r := mustOpen(t, path, now)
	late, kept, neither := driver.ID{Job: 1234, Epoch: 1}, driver.ID{Job: 56, Epoch: 1}, driver.ID{Job: 12356, Epoch: 1}
	linefiletest.WithRoomFor(t, path, 3, func() {
		if err := r.addAttempt(late, now); err == nil || !r.hasAttempt(late) {
			t.Errorf("it is known that %v was released, and not that this could not be written: %v", late, err)
		}
	})
	if err := r.addAttempt(kept, now); err != nil {
		t.Fatal(err)
	}
	if again := mustOpen(t, path, now); !again.hasAttempt(kept) || !again.hasAttempt(late) || again.hasAttempt(neither) {
		t.Errorf("known are %v", again.known)
	}
}

func TestOnlySoManyAreRemembered(t *testing.T) {
	path, now := filepath.Join(t.TempDir(), "gone"), time.Unix(1e9, 0)
	var b strings.Builder
	for i := range rememberMax + 10 {
		b.WriteString(registerLine(driver.ID{Job: 1, Epoch: 1}, now)[:1])
		fmt.Fprintf(&b, "%d.1 %d\n", i, now.Unix())
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := mustOpen(t, path, now); len(r.known) != rememberMax {
		t.Errorf("%d are known", len(r.known))
	}
}

func FuzzParseRegister(f *testing.F) {
	f.Add([]byte("1.1 5\n2.1 6\n3"))
	f.Fuzz(func(t *testing.T, data []byte) {
		ids, times := parseRegister(data)
		if len(ids) != len(times) {
			t.Fatal("ids and times differ")
		}
		var text string
		for i, id := range ids {
			text += registerLine(id, times[i])
		}
		if again, _ := parseRegister([]byte(text)); len(again) != len(ids) {
			t.Errorf("%v is read back as %v", ids, again)
		}
	})
}
