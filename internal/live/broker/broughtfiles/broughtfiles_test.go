package broughtfiles

import (
	"maps"
	"path/filepath"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/live/userfiles"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestWhatWasBroughtIsKnownByFolderOwnerAndMoment(t *testing.T) {
	r := Record{Dir: filepath.Join(t.TempDir(), "brought")}
	if err := r.ForgetOld(time.Now()); err != nil {
		t.Errorf("before anything was brought: %v", err)
	}
	first, second := userfiles.Stamp{Size: 1}, userfiles.Stamp{Size: 2}
	for _, add := range []struct {
		name  string
		stamp userfiles.Stamp
		at    float64
	}{{"a", first, 10}, {"b", first, 10}, {"b", second, 20}} {
		placed := map[string]userfiles.Stamp{add.name: add.stamp}
		if err := r.AddFiles(7, "/w", placed, core.AtSecond(add.at)); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		owner   uint32
		workdir string
		when    float64
		want    map[string]userfiles.Stamp
	}{
		"all":                       {7, "/w", 20, map[string]userfiles.Stamp{"a": first, "b": second}},
		"what was replaced later":   {7, "/w", 15, map[string]userfiles.Stamp{"a": first}},
		"before anything":           {7, "/w", 5, map[string]userfiles.Stamp{}},
		"of another user":           {8, "/w", 20, map[string]userfiles.Stamp{}},
		"brought to another folder": {7, "/v", 20, map[string]userfiles.Stamp{}},
	} {
		if got := r.FilesBefore(c.owner, c.workdir, core.AtSecond(c.when)); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if err := r.ForgetOld(time.Now().Add(maxAge + time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := r.FilesBefore(7, "/w", core.AtSecond(20)); len(got) != 0 {
		t.Errorf("after a long time %v is known", got)
	}
}
