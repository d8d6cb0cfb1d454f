package e2e

import (
	"strings"
)

// inputsGoEverywhere has jobs of all clusters read a file that one of them has.
func inputsGoEverywhere(b *bed) {
	ids := b.submit("run: head -c 3000000 /dev/urandom > ~/engine.db; sha256sum < ~/engine.db\non: [north]\n")
	b.until("the file", func() bool { return b.all()[ids[0]].over() })
	want := b.godwit("logs", ids[0])
	if !strings.HasSuffix(want, " -\n") {
		b.t.Fatalf("no file was made: %q", want)
	}
	for _, again := range []bool{false, true} {
		var jobs []string
		for _, c := range clusters {
			jobs = append(jobs, b.submit("run: sha256sum < engine.db\ninputs: [north:engine.db]\non: ["+c+"]\n")...)
		}
		b.until("the jobs to end", func() bool {
			all := b.all()
			for _, id := range jobs {
				if !all[id].over() {
					return false
				}
			}
			return true
		})
		for i, id := range jobs {
			if got := b.godwit("logs", id); got != want {
				b.t.Errorf("job %s on %s: %q, want %q\n%s", id, clusters[i], got, want, b.godwit("explain", id))
			}
			why := b.godwit("explain", id)
			if sent := strings.Contains(why, "had to be sent"); clusters[i] == "north" && !strings.Contains(why, "used where it is") ||
				clusters[i] != "north" && again && sent {
				b.t.Errorf("job %s on %s, again is %v:\n%s", id, clusters[i], again, why)
			}
		}
	}
}
