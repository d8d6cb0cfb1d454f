package attemptdir

import (
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/driver"
)

// Folders of versions that knew no parts are those of part 0.
func TestPartsHaveFoldersOfTheirOwn(t *testing.T) {
	for name, id := range map[string]driver.ID{"17.3": {Job: 17, Epoch: 3}, "17.3.1": {Job: 17, Epoch: 3, Part: 1},
		"17.3.12": {Job: 17, Epoch: 3, Part: 12}} {
		if got := FolderName(id); got != name {
			t.Errorf("the folder of %+v is %s, want %s", id, got, name)
		}
		if got, ok := ParseName(name); !ok || got != id {
			t.Errorf("%s is that of %+v (%v), want %+v", name, got, ok, id)
		}
	}
	for _, name := range []string{"17.3.0", "17.3.01", "17.3.-1", "17.3.", "17.3.1.1", "17.3.1000"} {
		if id, ok := ParseName(name); ok {
			t.Errorf("%q is taken for the folder of %+v", name, id)
		}
	}
}

func FuzzName(f *testing.F) {
	for _, s := range []string{"1.1", "17.3", "0.1", "01.1", "1.1.1", "1.1.0", "1.1.01", "1.1.1.1", "1.1.", "1.1.1000",
		"gone", "-1.2", "9223372036854775807.2147483647",
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
