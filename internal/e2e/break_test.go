package e2e

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// command runs a command here.
func command(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout = &out
	err := cmd.Run()
	return out.String(), err
}

// once runs for a while and notes in the shared home folder that it began and
// ended: nobody may begin twice at once, and whoever ended must not begin again.
const once = `echo began $GODWIT_ATTEMPT $(hostname) >> $HOME/once-$N
i=0; while [ $i -lt 20 ]; do echo line $i; i=$((i+1)); sleep 1; done
echo ended >> $HOME/once-$N
`

// breakThings has jobs running everywhere while controllers are restarted, a
// node's daemon is killed, a site is cut off and the broker is killed.
func breakThings(b *bed) {
	b.file("once.sh", once)
	want := ""
	for i := range 20 {
		want += fmt.Sprintf("line %d\n", i)
	}
	ids := map[string]string{}
	for _, c := range clusters {
		ids[c] = b.submit(fmt.Sprintf("name: on-%s\nworkdir: .\nenvs: {N: %s, HOME: %s}\nrun: sh once.sh\ncheckpoint: {method: restart}\non: [%s]\n", c, c, b.home(), c))[0]
	}
	for c, id := range ids {
		b.until("job "+id+" to run on "+c, func() bool { s := b.show(id); return s.over() || s.State == "RUNNING" })
	}
	begin := time.Now()
	b.on(b.show(ids["west"]).Hosts[0], "pkill -9 -x slurmd || true")
	b.do("restart", "north")
	b.do("restart", "south")
	b.do("cut", "east")
	b.killBroker()
	b.startBroker()
	time.Sleep(10 * time.Second)
	b.do("join", "east")
	b.t.Logf("broken and mended within %v", time.Since(begin).Round(time.Second))
	for c, id := range ids {
		s := b.wait(id)
		if s.Code == nil || *s.Code != 0 {
			b.t.Errorf("on %s: %+v\n%s", c, s, b.godwit("explain", id))
		}
		if out := b.godwit("logs", id); out != want {
			b.t.Errorf("on %s it wrote %.200q", c, out)
		}
		notes := b.on("head", "cat "+b.home()+"/once-"+c)
		lines := strings.Split(strings.TrimSpace(notes), "\n")
		if n := strings.Count(notes, "ended"); n != 1 || lines[len(lines)-1] != "ended" {
			b.t.Errorf("on %s it ended %d times:\n%s", c, n, notes)
		}
		b.t.Logf("%s: began %d times", c, strings.Count(notes, "began"))
	}
}

// home is alice's home folder.
func (b *bed) home() string {
	b.t.Helper()
	u, err := b.lab.User("alice")
	if err != nil {
		b.t.Fatal(err)
	}
	return u.Home
}

func (b *bed) killBroker() {
	b.t.Helper()
	b.on("head", "pkill -9 -f '[g]odwit up'")
}

func (b *bed) startBroker() {
	b.t.Helper()
	state := ""
	for _, v := range b.env {
		if s, ok := strings.CutPrefix(v, "GODWIT_STATE="); ok {
			state = s
		}
	}
	err := b.lab.Head.Daemon(b.t.Context(), "broker", []string{"GODWIT_STATE=" + state}, b.bin, "up", "--config", b.lab.Dir+"/broker.yaml")
	if err != nil {
		b.t.Fatal(err)
	}
	b.until("the broker to answer", func() bool { _, err := b.try("ps"); return err == nil })
}

// quoteYAML writes a text so that YAML reads it back.
func quoteYAML(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
