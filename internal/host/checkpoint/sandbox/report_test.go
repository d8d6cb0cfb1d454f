package sandbox_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
)

// talkingProgram counts in the page of its folder until the page says stop.
const talkingProgram = `import mmap, os, struct, time
page = mmap.mmap(os.open(os.environ["TALK"] + "/page", os.O_RDWR), 4096)
print("begins", flush=True)
n = struct.unpack_from("<Q", page, 128)[0]
while struct.unpack_from("<Q", page, 64)[0] == 0:
    n += 1
    struct.pack_into("<Q", page, 128, n)
    time.sleep(0.01)
print("stopped", struct.unpack_from("<Q", page, 64)[0], flush=True)
`

// talkFolder is the folder of one attempt, with a page.
func talkFolder(t *testing.T) (dir string, page *os.File) {
	t.Helper()
	dir = t.TempDir()
	page, err := os.OpenFile(filepath.Join(dir, "page"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = page.Close() })
	if err := page.Truncate(4096); err != nil {
		t.Fatal(err)
	}
	return dir, page
}

func numberAt(t *testing.T, page *os.File, at int64) uint64 {
	t.Helper()
	var b [8]byte
	if _, err := page.ReadAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	return binary.LittleEndian.Uint64(b[:])
}

// A program and whoever runs it see what the other writes into the page, also after it was moved to where there is
// another page.
func TestAProgramSharesAPageWithWhoeverRunsIt(t *testing.T) {
	work := t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "talk.py"), []byte(talkingProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	dir, page := talkFolder(t)
	p := program(t, work, "python3", "talk.py")
	p.Report, p.Env = dir, append(p.Env, "TALK="+dir)
	a, err := try(t, p, "")
	if err != nil {
		t.Fatal(err)
	}
	clocktest.WaitFor(t, "the program to count", func() bool { return numberAt(t, page, 128) > 20 })
	image := a.save(true, nil)
	counted := numberAt(t, page, 128)
	out, res := a.end()
	if out != "begins\n" || !res.Saved {
		t.Fatalf("%q, %+v", out, res)
	}
	dir, next := talkFolder(t)
	if _, err := next.WriteAt(binary.LittleEndian.AppendUint64(nil, counted), 128); err != nil {
		t.Fatal(err)
	}
	p = program(t, work, "python3", "talk.py")
	p.Report = dir
	if a, err = try(t, p, image); err != nil {
		t.Fatal(err)
	}
	clocktest.WaitFor(t, "the program to count on", func() bool { return numberAt(t, next, 128) > counted+20 })
	if n := numberAt(t, page, 128); n != counted {
		t.Errorf("the page it had before says %d, and said %d", n, counted)
	}
	if _, err := next.WriteAt(binary.LittleEndian.AppendUint64(nil, 7), 64); err != nil {
		t.Fatal(err)
	}
	if out, res = a.end(); out != "stopped 7\n" || res.Code != 0 {
		t.Errorf("%q, %+v", out, res)
	}
}
