package sandbox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
)

func TestTheNameOfTheWorkFolderIsReplacedWhereItIsMeant(t *testing.T) {
	const dir = "/home/u/job-1"
	for in, want := range map[string]string{
		dir:                              "/godwit",
		dir + "/a b":                     "/godwit/a b",
		"--out=" + dir + "/x":            "--out=/godwit/x",
		dir + ":" + dir + "/bin":         "/godwit:/godwit/bin",
		"cat '" + dir + "'|sort":         "cat '/godwit'|sort",
		dir + "0/x":                      dir + "0/x",
		dir + "-old":                     dir + "-old",
		"/backup" + dir:                  "/backup" + dir,
		dir + "0 " + dir:                 dir + "0 /godwit",
		"":                               "",
		"/home/u/job-":                   "/home/u/job-",
		"a=" + dir + ",b=" + dir + "/c,": "a=/godwit,b=/godwit/c,",
	} {
		if got := translatePath(in, dir); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestWordsOfGVisorBecomeTheCodesOfAShell(t *testing.T) {
	p := &checkpoint.Program{Argv: []string{"prog"}, Dir: "/nowhere"}
	for said, code := range map[string]int{
		`starting container: starting root container: failed to create process: finding executable "prog" in PATH [/bin]: no such file or directory`: 127,
		`failed to create process: failed to load prog: permission denied`:                                                                           126,
		`failed to load prog: exec format error`:                                                                                                     126,
		`something else: no such file or directory`:                                                                                                  0,
	} {
		err := explainStart(&startError{said}, p)
		var launch *checkpoint.LaunchError
		if errors.As(err, &launch) != (code != 0) || launch != nil && launch.Code != code {
			t.Errorf("%s: %v, want code %d", said, err, code)
		}
	}
	if other := errors.New("other"); !errors.Is(explainStart(other, p), other) {
		t.Error("an error that gVisor did not say was changed")
	}
}

// good is a record that can be read.
func good() record {
	return record{
		Format: recordFormat, Argv: []string{"true"}, Folders: []string{"usr", "etc"}, Links: []link{{"bin", "usr/bin"}},
		Sizes: map[string]int64{"pages.img": 1}, Used: []usedFile{{Path: "/usr/bin/true", Size: 3}},
	}
}

func TestARecordThatLeadsElsewhereIsRefused(t *testing.T) {
	text := func(change func(r *record)) []byte {
		r := good()
		change(&r)
		out, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if r, err := parseRecord(text(func(*record) {})); err != nil || len(r.Folders) != 2 {
		t.Fatalf("a good record: %+v, %v", r, err)
	}
	for what, change := range map[string]func(r *record){
		"another format":         func(r *record) { r.Format++ },
		"no program":             func(r *record) { r.Argv = nil },
		"nobody":                 func(r *record) { r.UID = -1 },
		"a folder outside":       func(r *record) { r.Folders = []string{"../etc"} },
		"a folder above":         func(r *record) { r.Folders = []string{".."} },
		"the work folder":        func(r *record) { r.Folders = []string{"godwit"} },
		"a folder twice":         func(r *record) { r.Folders = []string{"usr", "usr"} },
		"a folder and a link":    func(r *record) { r.Folders = []string{"bin"} },
		"a nameless link":        func(r *record) { r.Links = []link{{"", "/"}} },
		"a size of another file": func(r *record) { r.Sizes = map[string]int64{"../x": 1} },
	} {
		if r, err := parseRecord(text(change)); err == nil {
			t.Errorf("%s: %+v", what, r)
		}
	}
}

func FuzzRecord(f *testing.F) {
	text, err := json.Marshal(good())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"format":1,"argv":["a"],"folders":[".."]}`))
	f.Add([]byte(`{"format":1,"argv":["a"],"links":[{"name":"x","target":"/"}],"folders":["x"]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := parseRecord(text)
		if err != nil {
			return
		}
		// Whatever a record names lies in the sandbox's own folder.
		for _, name := range r.Folders {
			if filepath.Dir(filepath.Join("/root", name)) != "/root" || slices.Contains(ownFolders, name) {
				t.Errorf("folder %q", name)
			}
		}
		for _, l := range r.Links {
			if filepath.Dir(filepath.Join("/root", l.Name)) != "/root" || slices.Contains(r.Folders, l.Name) {
				t.Errorf("link %q", l.Name)
			}
		}
		for name := range r.Sizes {
			if strings.Contains(name, "/") && name != "/" {
				t.Errorf("file %q", name)
			}
		}
	})
}

func FuzzMessages(f *testing.F) {
	f.Add([]byte("{\"running\":{\"sentry\":7,\"gofer\":8}}\n{\"ended\":{\"status\":768}}\n"))
	f.Add([]byte("{\"number\":3,\"error\":\"no\"}\n{\"number\":-1}\n"))
	f.Add([]byte("{\"failed\":\"x\"}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		in := bufio.NewReaderSize(bytes.NewReader(text), 16)
		for range bytes.Count(text, []byte("\n")) + 1 {
			m, err := readMessage(in)
			if err != nil {
				return
			}
			if m.Number < 0 {
				t.Errorf("an answer to order %d", m.Number)
			}
		}
		t.Error("more messages than lines")
	})
}
