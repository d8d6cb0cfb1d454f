package jobfile

import (
	"fmt"
	"strings"
	"testing"
)

func handedOn(m *Manager, kind string) string {
	told, left := m.OptionsFor(kind)
	return fmt.Sprint(told) + " " + strings.Join(left, "; ")
}

func TestClustersAreToldWhatTheirScriptsSay(t *testing.T) {
	for name, values := range map[string][]string{
		"partition": {"batch", "short,long"}, "account": {"proj-7"}, "qos": {"high"},
		"constraint": {"avx512", "[rack1|rack2]", "(a&b)|c", "intel*2"},
		"nodelist":   {"n[1-3],login-2"}, "exclude": {"n7"}, "gres": {"gpu:a100:2", "gpu:2(S:0)"}, "gpus": {"2"},
		"licenses":    {"matlab@server:1"},
		"mem-per-cpu": {"2048K"}, "exclusive": {"", "user"}, "nice": {"", "100"}, "hint": {"nomultithread"},
		"distribution": {"block:cyclic"},
		"switches":     {"1@1:00:00"}, "reservation": {"maint"}, "contiguous": {""},
	} {
		for _, v := range values {
			m := &Manager{Kind: Slurm, Options: map[string][]string{name: {v}}}
			if told, left := m.OptionsFor(Slurm); len(told) != 1 || told[0] != (Option{name, v}) || left != nil {
				t.Errorf("%s %q: %s", name, v, handedOn(m, Slurm))
			}
			if told, left := m.OptionsFor(GridEngine); told != nil || len(left) != 1 {
				t.Errorf("%s %q: %s", name, v, handedOn(m, GridEngine))
			}
		}
	}
	for name, values := range map[string][]string{
		"q": {"all.q", "all.q@n1,*@@fast"}, "P": {"proj"}, "p": {"-100", "0"}, "pe": {"smp"},
		"l": {"gpu=1", "arch=lx*|sol*", "exclusive=true"}, "binding": {"linear:2", "set linear:2"},
	} {
		for _, v := range values {
			if told, left := (&Manager{Kind: GridEngine,
				Options: map[string][]string{name: {v}}}).OptionsFor(GridEngine); len(told) != 1 || left != nil {
				t.Errorf("%s %q: %v %v", name, v, told, left)
			}
		}
	}
	any := &Manager{Options: map[string][]string{"partition": {"fast"}, "account": {"x"}, "exclusive": {"true"},
		"slurm.constraint": {"avx"}, "sge.l": {"gpu=1"}}}
	if got := handedOn(any, Slurm); got != "[account x exclusive partition fast constraint avx] sge.l: clusters are not "+
		"told it" {
		t.Errorf("for Slurm: %s", got)
	}
	if got := handedOn(any, GridEngine); !strings.HasPrefix(got, "[P x q fast l gpu=1] ") {
		t.Errorf("for Grid Engine: %s", got)
	}
}

// hostile are values that would do something else than be a value.
var hostile = []string{"; rm -rf /", "$(reboot)", "`id`", "a b", "--wrap=id", "-", "-l h_rt=1", "a\n--uid=0", "a\x00b",
	"'", `"`, "\\", "/etc/passwd", "../x", "a#b",
	"a;b", "a>b", "ä", "\u202e", strings.Repeat("a", 5000), " ", "\t", "@/etc/passwd", "~root", "a\r", "$HOME", "%j",
	"{a,b}", "!x", "a=b=c;d"}

func TestNoClusterIsToldWhatCouldBeMoreThanAValue(t *testing.T) {
	for kind, syntax := range map[string]map[string]func(string) bool{Slurm: slurmSyntax, GridEngine: gridSyntax} {
		for name := range syntax {
			for _, v := range hostile {
				for _, v := range []string{v, "a" + v, v + "a", "x=" + v} {
					told, _ := (&Manager{Kind: kind, Options: map[string][]string{name: {v}}}).OptionsFor(kind)
					for _, o := range told {
						harmless(t, o)
					}
				}
			}
		}
	}
	for _, name := range []string{"wrap", "uid", "clusters", "nodefile", "bbf", "export-file", "propagate", "output",
		"job-name", "jsv", "ckpt", "-wrap", "wrap=x --uid", "", "o", "b", "@"} {
		for _, kind := range []string{Slurm, GridEngine} {
			for _, from := range []string{"", kind} {
				if told, left := (&Manager{Kind: from, Options: map[string][]string{name: {"1"}}}).OptionsFor(kind); told != nil ||
					len(left) != 1 {
					t.Errorf("%s is told %q", kind, told)
				}
			}
		}
	}
	if told, _ := (&Manager{Kind: GridEngine,
		Options: map[string][]string{"l": {"h_vmem=1G", "s_cpu=1", "h_rt=1"}}}).OptionsFor(GridEngine); told != nil {
		t.Errorf("limits of processes are told: %v", told)
	}
}

// harmless: a value is no option, no file, nothing to any shell but a list of
// features or hosts, and always one word or two.
func harmless(t *testing.T, o Option) {
	t.Helper()
	if strings.ContainsAny(o.Value, "\x00\n\r\t;<>$`'\"\\/~#%{}") || strings.HasPrefix(o.Value, "-") && o.Name != "p" ||
		len(o.Value) > longestValue ||
		strings.Contains(o.Value, " ") && o.Name != "binding" ||
		strings.ContainsFunc(o.Value, func(r rune) bool { return r > 0x7e || r < ' ' }) {
		t.Errorf("told: %q %q", o.Name, o.Value)
	}
}

func FuzzHanded(f *testing.F) {
	for _, v := range hostile {
		f.Add("partition", v)
	}
	f.Add("l", "gpu=1")
	f.Add("slurm.constraint", "a&b")
	f.Fuzz(func(t *testing.T, name, value string) {
		for _, from := range []string{"", Slurm, GridEngine} {
			for _, to := range []string{Slurm, GridEngine} {
				told, left := (&Manager{Kind: from, Options: map[string][]string{name: {value}}}).OptionsFor(to)
				if len(told)+len(left) != 1 {
					t.Fatalf("%v, %v", told, left)
				}
				for _, o := range told {
					harmless(t, o)
				}
				if len(left) == 1 && strings.ContainsAny(left[0], "\n\r\x1b") {
					t.Fatalf("not one line: %q", left)
				}
			}
		}
	})
}
