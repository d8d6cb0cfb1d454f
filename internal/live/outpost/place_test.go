package outpost

import (
	"os"
	"path/filepath"
	"testing"
)

// Whoever may rename a folder above may put one of their own in its place.
func TestAFolderBelowOneOfSomebodyElseIsNotUsed(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "scratch", "alice", "godwit")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := checkOurs(dir); err != nil {
		t.Fatalf("a folder of our own: %v", err)
	}
	above := filepath.Dir(dir)
	for mode, fine := range map[os.FileMode]bool{0o777: false, 0o770: false, 0o777 | os.ModeSticky: true, 0o755: true} {
		if err := os.Chmod(above, mode); err != nil {
			t.Fatal(err)
		}
		if err := checkOurs(dir); (err == nil) != fine {
			t.Errorf("below a folder of mode %v: %v", mode, err)
		}
	}
	if os.Getuid() != 0 {
		t.Log("not root: no folder of another user can be made here")
		return
	}
	if err := os.Chown(above, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if err := checkOurs(dir); err == nil {
		t.Error("below a folder of another user it is used")
	}
}
