package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// builtWhereItRuns has jobs bring their sources to every kind of cluster: they are
// built there, once for all hosts that are alike, and who brings the same later
// runs what was built.
func builtWhereItRuns(b *bed) {
	const build = "build: {command: 'echo compiling; cc -o hello hello.c', outputs: [hello]}\nrun: ./hello\n"
	for _, again := range []bool{false, true} {
		src := b.sources(fmt.Sprintf("binder-%v", again))
		jobs := map[string]string{}
		for _, c := range []string{"north", "south", "east1"} {
			jobs[c] = b.submit("workdir: " + src + "\n" + build + "on: [" + c + "]\n")[0]
		}
		built := 0
		for c, id := range jobs {
			if end := b.wait(id); end.State != "DONE" {
				b.t.Errorf("job %s on %s is %s: %s", id, c, end.State, b.godwit("explain", id))
				continue
			}
			if log := b.godwit("logs", id); !strings.Contains(log, "made from sources\n") {
				b.t.Errorf("job %s on %s wrote %q", id, c, log)
			}
			why := b.godwit("explain", id)
			switch {
			case strings.Contains(why, "build: built\n"):
				built++
			case !strings.Contains(why, "build: not built again\n"):
				b.t.Errorf("job %s on %s says nothing of its build:\n%s", id, c, why)
			}
		}
		if again && built > 0 || !again && built == 0 {
			b.t.Errorf("%d builds, again is %v", built, again)
		}
	}
	// One that fails fails there as well, and says why.
	id := b.submit("workdir: " + b.sources("binder-fails") +
		"\nbuild: echo no such compiler; exit 9\nrun: ./hello\non: [north]\n")[0]
	if end := b.wait(id); end.State != "FAILED" {
		b.t.Errorf("a build that fails on north: %s", end.State)
	}
	if why := b.godwit("show", id); !strings.Contains(why, "no such compiler") {
		b.t.Errorf("nothing is told of the build that failed:\n%s", why)
	}
}

// sources makes a folder with the sources of a program, to which its user may write:
// what is built comes home.
func (b *bed) sources(name string) string {
	b.t.Helper()
	dir := filepath.Dir(b.file(filepath.Join(name, "hello.c"),
		"#include <stdio.h>\nint main(void) { puts(\"made from sources\"); return 0; }\n"))
	if err := os.Chown(dir, b.number(), b.number()); err != nil {
		b.t.Fatal(err)
	}
	return dir
}
