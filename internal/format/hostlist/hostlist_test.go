package hostlist

import (
	"slices"
	"strings"
	"testing"
)

func TestListsAreUnfoldedAsSlurmDoes(t *testing.T) {
	for list, want := range map[string]string{
		"a1":                "a1",
		"a1,b2":             "a1 b2",
		"n[1-3]":            "n1 n2 n3",
		"n[08-10,12],login": "n08 n09 n10 n12 login",
		"a[1],b[2-3],c":     "a1 b2 b3 c",
		"n[1-2]m":           "n1m n2m",
		"r[1-2]c[1-2]":      "r1c1 r1c2 r2c1 r2c2",
		"[1-2]":             "1 2",
		"n[0-0]":            "n0",
		",,a":               "a",
		" n1\n":             "n1",
	} {
		if got := strings.Join(ExpandList(list), " "); got != want {
			t.Errorf("%q: %q, want %q", list, got, want)
		}
	}
}

func TestWhatIsNoListGivesNothing(t *testing.T) {
	for _, list := range []string{"", "(null)", "(Priority)", "n[1-", "n[x-y]", "n[-5]", "n[3-1]", "n[]", "n[1,]", "]n[1]",
		"n[[1]]", "n[+1]", "n[1 ]", "a b", "a,n[1-",
		"n[1-999999999]", "n[1-99999999999999999999]", "a[1-60000]b[1-60000]", "a[1-60000],b[1-60000]", "a\x00b", "a'b",
		"a;b", "$x", "a/b"} {
		if got := ExpandList(list); got != nil {
			t.Errorf("%q: %d hosts", list, len(got))
		}
	}
	if n := len(ExpandList("a[1-65536]")); n != MaxHosts {
		t.Errorf("%d hosts", n)
	}
}

func FuzzUnfold(f *testing.F) {
	for _, s := range []string{"n[1-3,07],gpu-2", "a[1-2]b[3-4]", "[", "]", "n[1-99999999999999999999]", "n[-1]",
		"n[08-10,12],login", "(null)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		hosts := ExpandList(list)
		if len(hosts) > MaxHosts {
			t.Errorf("%d hosts", len(hosts))
		}
		if again := ExpandList(strings.Join(hosts, ",")); !slices.Equal(again, hosts) {
			t.Errorf("%q: %q, and that again: %q", list, hosts, again)
		}
	})
}
