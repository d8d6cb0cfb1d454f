package depotfence

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/driver"
)

func TestWhatWasGrantedForAnAttemptIsRevokedOnce(t *testing.T) {
	var f Fences
	if one := f.FenceFor("here", 7, nil); one != f.FenceFor("here", 7, nil) || one == f.FenceFor("here", 8, nil) ||
		one == f.FenceFor("there", 7, nil) {
		t.Error("a fence is not that of one cluster and one owner")
	}
	var revoked []string
	id := driver.ID{Job: 3, Epoch: 1}
	f.SetGrant(id, func() { revoked = append(revoked, "first") })
	f.SetGrant(driver.ID{Job: 3, Epoch: 2}, func() { revoked = append(revoked, "of another attempt") })
	f.SetGrant(id, func() { revoked = append(revoked, "second") })
	if len(revoked) != 1 || revoked[0] != "first" {
		t.Errorf("granted again, %q is revoked", revoked)
	}
	f.SetGrant(id, nil)
	f.SetGrant(id, nil)
	if len(revoked) != 2 || revoked[1] != "second" {
		t.Errorf("released, %q is revoked", revoked)
	}
}
