package batch_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/batch"
)

func TestJobsOfDriversAreKnownByTheirNames(t *testing.T) {
	for name, want := range map[string]string{
		"gw-1a2b3c4d-17.1": "gw-1a2b3c4d-", "gw-1a2b3c4d-17.1.2": "gw-1a2b3c4d-", "gw-00000000-": "gw-00000000-",
		"": "", "gw-": "", "gw-1a2b3c4d": "", "gw-1A2B3C4D-1.1": "", "gw-1a2b3c4-1.1": "", "gw-1a2b3c4d5-1.1": "",
		"xgw-1a2b3c4d-1.1": "", "fit.sh": "",
	} {
		if got := batch.DriverPrefix(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	w, _ := newWorld(t, nil)
	if prefix := w.OpenBatch().JobPrefix(); batch.DriverPrefix(prefix+"1.1") != prefix {
		t.Errorf("our own jobs are named %s…", prefix)
	}
}

func FuzzDriverPrefix(f *testing.F) {
	f.Add("gw-1a2b3c4d-17.1")
	f.Fuzz(func(t *testing.T, name string) {
		if p := batch.DriverPrefix(name); !strings.HasPrefix(name, p) || p != "" && batch.DriverPrefix(p) != p {
			t.Errorf("%q: %q", name, p)
		}
	})
}

// Ours are not others'; those of another broker are.
func TestWhatOthersHoldIsTold(t *testing.T) {
	w, p := newWorld(t, nil)
	d := w.OpenBatch()
	const other = "gw-00000000-"
	p.heldBy = driver.Held{d.JobPrefix(): 3, other: 2, "": 4}
	l, err := d.MeasureLoad(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if u := l.Usage; u == nil || u.Procs != 12 || u.Others != 6 || !maps.Equal(u.Brokers, map[string]int{other: 2}) {
		t.Errorf("%+v", u)
	}
}

func TestAManagerThatDoesNotSayWhoHoldsWhatIsNotGuessedAt(t *testing.T) {
	w, _ := newWorld(t, nil)
	if l, err := w.OpenBatch().MeasureLoad(t.Context()); err != nil || l.Usage != nil {
		t.Errorf("%+v, %v", l.Usage, err)
	}
}

func TestOfManyOtherDriversSomeAreTold(t *testing.T) {
	w, p := newWorld(t, nil)
	p.heldBy = driver.Held{}
	for i := range 3000 {
		p.heldBy[fmt.Sprintf("gw-%08x-", i)] = 1
	}
	if l, err := w.OpenBatch().MeasureLoad(t.Context()); err != nil || l.Usage.Others != 3000 ||
		len(l.Usage.Brokers) != 1000 {
		t.Errorf("%d, %d told, %v", l.Usage.Others, len(l.Usage.Brokers), err)
	}
}
