package slurm

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/driver"
)

const ours, theirs = "gw-1a2b3c4d-", "gw-00000000-"

func hostsNamed(names ...string) []driver.Host {
	var list []driver.Host
	for _, name := range names {
		list = append(list, driver.Host{Name: name, Procs: 4})
	}
	return list
}

func TestWhoHoldsProcessorsIsRead(t *testing.T) {
	out := strings.Join([]string{
		"RUNNING|3|batch|n1|" + ours + "1.1",
		"RUNNING|2|batch|n2|" + ours + "2.1.1 ",
		"CONFIGURING|4|batch|n2|an odd|name",    // its hosts are being started
		"RUNNING|8|long|n[2-3]|elsewhere too",   // of two hosts one is ours
		"RUNNING|1|long|n3|elsewhere",           // not on a host of ours
		"SUSPENDED|4|batch|n1|gave them up",     // others may have them
		"COMPLETING|4|batch|n1|" + ours + "3.1", // as good as gone
		"RUNNING|1|batch|n1|" + theirs + "9.1",  // of another broker
		"PENDING|7|batch||waits",
		"PENDING|7|long,batch||waits for either",
		"PENDING|7|long||waits elsewhere",
		"TIMEOUT|7|batch|n1|over",
		"nonsense", "RUNNING|x|batch|n1|no number", "",
	}, "\n") + "\n"
	waiting, held := parseUsage(out, []string{"batch"}, hostsNamed("n1", "n2"))
	if want := (driver.Held{ours: 5, theirs: 1, "": 8}); waiting != 2 || !reflect.DeepEqual(held, want) {
		t.Errorf("%d wait; held are %v, want %v", waiting, held, want)
	}
	if waiting, _ := parseUsage(out, nil, nil); waiting != 3 {
		t.Errorf("%d wait for any partition", waiting)
	}
}

// Who holds what comes with the list of those that wait, which is asked for anyway.
func TestASurveyAsksTwoThings(t *testing.T) {
	m := New(Options{})
	asked := scripted(t, m, map[string]answer{
		"scontrol --version":            {out: "slurm-wlm 22.05.8\n"},
		"scontrol --oneliner show node": {out: recorded(t, "nodes-22.05.txt")},
		"sinfo":                         {out: "batch*|n/a|infinite\n"},
		"squeue": {out: "RUNNING|2|batch|n1|" + ours + "1.1\nRUNNING|2|batch|n2|by hand\n" +
			"RUNNING|1|batch|n5|on a host that is being drained\nPENDING|1|batch||waits\n"},
	})
	for range 2 {
		s, err := m.SurveyHosts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if want := (driver.Held{ours: 2, "": 3 + 3}); !reflect.DeepEqual(s.Held, want) || s.Waiting != 1 {
			t.Errorf("held are %v, want %v; %d wait", s.Held, want, s.Waiting)
		}
	}
	if again := (*asked)[len(*asked)-2:]; len(*asked) != 6 || !slices.Equal(again,
		[]string{"scontrol --oneliner show node", "squeue --noheader --format=" + usageFormat}) {
		t.Errorf("asked %q", *asked)
	}
}

func FuzzUsage(f *testing.F) {
	f.Add("RUNNING|3|batch|n[1-2]|"+ours+"1.1\nPENDING|1|batch||x\n", "batch")
	f.Add("RUNNING|99999999999999999999|batch|n1|x\nRUNNING|-1|batch|n1|x\n", "")
	f.Fuzz(func(t *testing.T, out, partition string) {
		waiting, held := parseUsage(out, []string{partition}, hostsNamed("n1", "n2"))
		if waiting < 0 || waiting > strings.Count(out, "\n")+1 {
			t.Errorf("%d wait", waiting)
		}
		for whose, n := range held {
			if n <= 0 || whose != "" && !strings.HasPrefix(whose, "gw-") {
				t.Errorf("%q holds %d", whose, n)
			}
		}
	})
}
