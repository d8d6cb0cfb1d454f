package badinput

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
)

func TestAMessageSaysWhatIsWrongAndWhatWouldBeRight(t *testing.T) {
	for _, c := range []struct {
		err  *Error
		want string
	}{
		{&Error{Field: "--workdir", Value: "/x", Problem: "no such directory"}, "--workdir /x: no such directory"},
		{&Error{Field: "--workdir", Value: "/x y", Problem: "no such directory"}, `--workdir "/x y": no such directory`},
		{&Error{File: "p.yaml", Line: 3, Field: "cores", Value: "six", Want: "a whole number from 1 to 8"},
			`p.yaml:3: cores "six": expected a whole number from 1 to 8`},
		{&Error{File: "j.yaml", Field: "run", Problem: "missing", Want: "a shell line"},
			"j.yaml: run: missing, expected a shell line"},
		{&Error{Field: "--nme", Want: "unknown flag, did you mean --name?"}, "--nme: unknown flag, did you mean --name?"},
		{UnreadableFile("nofile.yaml", &fs.PathError{Op: "open", Path: "nofile.yaml", Err: syscall.ENOENT}),
			"cannot read nofile.yaml: no such file or directory"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	if err := UnreadableFile("x", syscall.ENOENT); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v does not tell why", err)
	}
}
