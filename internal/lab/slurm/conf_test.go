package slurm

import (
	"context"
	"os/exec"
	"strings"
	"testing"
)

// somewhere is a place where nothing is run.
type somewhere string

func (s somewhere) Command(context.Context, ...string) *exec.Cmd { return nil }
func (s somewhere) Name() string                                 { return string(s) }
func (s somewhere) Addr() string                                 { return "10.0.0.1" }

func TestFurtherLinesReplaceOurs(t *testing.T) {
	c := New(Config{Name: "x", Dir: "/x", Head: somewhere("head"), Munge: "/m", NodeTimeout: 7,
		More:  []string{"killwait=30"},
		Nodes: []Node{{Place: somewhere("a"), CPUs: 3, Memory: 500}}})
	conf := c.confText()
	for _, want := range []string{"\nkillwait=30\n", "\nSlurmdTimeout=7\n",
		"\nNodeName=a NodeAddr=10.0.0.1 CPUs=3 RealMemory=500\n",
		"\nSlurmctldHost=head(10.0.0.1)\n", "\nAuthInfo=socket=/m,cred_expire=5\n"} {
		if strings.Count(conf, want) != 1 {
			t.Errorf("%q is %d times in\n%s", want, strings.Count(conf, want), conf)
		}
	}
	if strings.Contains(conf, "KillWait") {
		t.Errorf("our own line is left in\n%s", conf)
	}
}
