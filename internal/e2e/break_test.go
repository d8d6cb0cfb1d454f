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
i=0; while [ $i -lt 40 ]; do echo line $i; i=$((i+1)); sleep 1; done
echo ended >> $HOME/once-$N
`

// cut is a cluster that nobody reaches for a while, and a job that runs there.
type cut struct {
	id string
	at time.Time
}

// cutFor is how long that is.
const cutFor = time.Minute

// submitOnce has it run in a cluster.
func (b *bed) submitOnce(cluster string) string {
	b.t.Helper()
	b.file("once.sh", once)
	return b.submit(fmt.Sprintf("name: on-%s\nworkdir: .\nenvs: {N: %s, HOME: %s}\nrun: sh once.sh\ncheckpoint: "+
		"{method: restart}\non: [%s]\n", cluster, cluster, b.home(), cluster))[0]
}

func (b *bed) runs(id string) {
	b.t.Helper()
	b.until("job "+id+" to run", func() bool { s := b.show(id); return s.over() || s.State == "RUNNING" })
}

// cutOff cuts a cluster off in which a job runs.
func cutOff(b *bed) {
	b.cut.id = b.submitOnce("west")
	b.runs(b.cut.id)
	b.do("cut", "west")
	b.cut.at = time.Now()
}

// breakThings has jobs running everywhere while controllers are restarted, a
// node's daemon and the broker are killed, and one cluster has been out of reach
// for some time. It gets back after a minute.
func breakThings(b *bed) {
	ids := map[string]string{"west": b.cut.id}
	for _, c := range clusters {
		if ids[c] == "" {
			ids[c] = b.submitOnce(c)
		}
	}
	for c, id := range ids {
		if c != "west" {
			b.runs(id)
		}
	}
	begin := time.Now()
	b.on(b.show(ids["north"]).Hosts[0], "pkill -9 -x slurmd || true")
	b.do("restart", "north")
	b.do("restart", "south")
	b.killBroker()
	b.startBroker()
	if s := b.show(b.cut.id); s.over() {
		b.t.Errorf("a job in a cluster that is out of reach: %+v", s)
	}
	b.t.Logf("broken within %v", time.Since(begin).Round(time.Second))
	time.Sleep(time.Until(b.cut.at.Add(cutFor))) // so long it is cut off
	b.do("join", "west")
	b.t.Logf("west was cut off for %v", time.Since(b.cut.at).Round(time.Second))
	want := ""
	for i := range 40 {
		want += fmt.Sprintf("line %d\n", i)
	}
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
	u, err := b.lab.FindUser("alice")
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
	env, args := []string{"GODWIT_STATE=" + state}, []string{b.bin, "up", "--config", b.lab.Dir + "/broker.yaml"}
	if b.user != "" {
		env, args = append(env, "GODWIT_SOCKET="+b.socket()), append(args, "--shared")
	}
	err := b.lab.Head.StartDaemon(b.t.Context(), "broker", env, args...)
	if err != nil {
		b.t.Fatal(err)
	}
	b.until("the broker to answer", func() bool { _, err := b.try("ps"); return err == nil })
}

// quoteYAML writes a text so that YAML reads it back.
func quoteYAML(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
