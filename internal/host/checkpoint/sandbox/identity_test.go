package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// What the other user is asked to do, in the environment: to continue an image
// in a work folder, or to start from the beginning, and to save the program
// again into another folder.
const (
	otherWork   = "GODWIT_TEST_WORK"
	otherImage  = "GODWIT_TEST_IMAGE" // "": from the beginning
	otherInto   = "GODWIT_TEST_INTO"
	otherOutput = "GODWIT_TEST_OUTPUT"
)

// A program that says who it is, and who owns what it makes.
const whoAmI = `i=0; while [ $i -lt 60 ]; do i=$((i+1)); id -u; stat -c %u . ; echo $i >file$((i % 7)); stat -c %u file$((i % 7)); sleep .01; done; exit 6`

// TestOfTheOtherUser is not a test of its own: it is what
// TestAProgramMovesBetweenUsers lets the other user do.
func TestOfTheOtherUser(t *testing.T) {
	work := os.Getenv(otherWork)
	if work == "" {
		return
	}
	a := begin(t, work, os.Getenv(otherImage), "sh", "-c", whoAmI)
	a.awaitLines(30)
	if err := a.run.SaveImage(t.Context(), os.Getenv(otherInto), true, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	out, res := a.end()
	if !res.Saved {
		t.Errorf("it ended with %+v", res)
	}
	if err := os.WriteFile(os.Getenv(otherOutput), []byte(out), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A program believes for life to be who it was at first, and owns its files,
// whoever continues it.
func TestAProgramMovesBetweenUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		return // only root can be two users
	}
	for _, c := range []struct {
		name  string
		first int // who starts it
	}{{"StartedByRoot", 0}, {"StartedByAnOrdinaryUser", ordinaryUser}} {
		t.Run(c.name, func(t *testing.T) {
			open := openFolder(t)
			work, image, into, output := filepath.Join(open, "work"), "", filepath.Join(open, "into"),
				filepath.Join(open, "output")
			for _, dir := range []string{work, into} {
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			var before string
			if c.first == 0 {
				a := begin(t, work, "", "sh", "-c", whoAmI)
				a.awaitLines(30)
				image = filepath.Join(open, "image")
				copyTree(t, a.save(true, nil), image)
				before, _ = a.end()
			}
			give(t, open, ordinaryUser)
			asOrdinaryUser(t, "^TestOfTheOtherUser$",
				otherWork+"="+work, otherImage+"="+image, otherInto+"="+into, otherOutput+"="+output)
			give(t, open, 0)
			text, err := os.ReadFile(output)
			if err != nil {
				t.Fatal(err)
			}
			rest, res := begin(t, work, into, "sh", "-c", whoAmI).end()
			want := strings.Repeat(strconv.Itoa(c.first)+"\n", 3*60)
			if got := before + string(text) + rest; got != want || res.Code != 6 {
				t.Errorf("it ended with %+v and says\n%s", res, got)
			}
		})
	}
}

// give gives a folder and all in it to a user.
func give(t *testing.T, dir string, uid int) {
	t.Helper()
	id := strconv.Itoa(uid)
	if out, err := exec.Command("chown", "-R", id+":"+id, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
