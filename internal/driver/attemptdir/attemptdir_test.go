package attemptdir

import (
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/driver"
)

func FuzzName(f *testing.F) {
	for _, s := range []string{"1.1", "17.3", "0.1", "01.1", "1.1.1", "gone", "-1.2", "9223372036854775807.2147483647",
		"1.2147483648"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, ok := ParseName(s)
		if ok && (FolderName(id) != s || id.Job <= 0 || id.Epoch <= 0 || filepath.Base(s) != s) {
			t.Errorf("%q is read as %+v", s, id)
		}
		if back, ok := ParseName(FolderName(driver.ID{Job: 5, Epoch: id.Epoch})); ok && back.Job != 5 {
			t.Errorf("%+v", back)
		}
	})
}
