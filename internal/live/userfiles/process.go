package userfiles

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// Subcommand is the argument with which our program is a hand.
const Subcommand = "hand"

// userRequest is what a process is to do: one of these.
type userRequest struct {
	Broker  string   `json:"broker"` // its socket, at which who asks gets their own depot
	Results *Results `json:"results,omitempty"`
	Output  *Output  `json:"output,omitempty"` // its content follows; the marker is descriptor 3
	Gather  []Copy   `json:"gather,omitempty"`
}

// report is what came of it.
type report struct {
	Error  string `json:"error,omitempty"`
	Errno  uint32 `json:"errno,omitempty"`   // of the system, if that was its reason
	NoTree bool   `json:"no_tree,omitempty"` // the depot has the results, and they are no tree
	Placed Placed `json:"placed"`
	Tree   string `json:"tree,omitempty"`
}

// OtherUser works as another user: in a process of that user, for each errand one.
type OtherUser struct {
	Command []string        // of our program
	As      func(*exec.Cmd) // makes a process that user's
	Broker  string          // the socket at which users are answered
}

// PutBack has the changed files written by their owner.
func (o OtherUser) PutBack(ctx context.Context, r *Results) (Placed, error) {
	got, err := o.sendRequest(ctx, &userRequest{Results: r}, nil, nil)
	return got.Placed, err
}

// GatherFiles has files put into their owner's depot.
func (o OtherUser) GatherFiles(ctx context.Context, files []Copy) (string, error) {
	got, err := o.sendRequest(ctx, &userRequest{Gather: files}, nil, nil)
	return got.Tree, err
}

// Write has a file written by its owner.
func (o OtherUser) Write(ctx context.Context, out *Output, marker string, content io.Reader) error {
	if !out.Append {
		_, err := o.sendRequest(ctx, &userRequest{Output: out}, content, nil)
		return err
	}
	m, err := openMarker(marker)
	if err != nil {
		return err
	}
	_, err = o.sendRequest(ctx, &userRequest{Output: out}, content, m)
	return errors.Join(err, m.Close())
}

// sendRequest starts a process of the user and waits for its report.
func (o OtherUser) sendRequest(ctx context.Context, e *userRequest, content io.Reader,
	marker *os.File) (report, error) {
	e.Broker = o.Broker
	var got report
	var head, out, said bytes.Buffer
	if err := wire.WriteFrame(&head, e); err != nil {
		return got, err
	}
	cmd := exec.CommandContext(ctx, o.Command[0], append(o.Command[1:], Subcommand)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &head, &bounded{&out}, &bounded{&said}
	if content != nil {
		cmd.Stdin = io.MultiReader(&head, content)
	}
	if marker != nil {
		cmd.ExtraFiles = []*os.File{marker}
	}
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	o.As(cmd)
	err := cmd.Run()
	if e := wire.ReadFrame(&out, &got); e != nil {
		return got, errors.Join(fmt.Errorf("a process of the user, for the user's files: %w", e), err,
			errors.New(strings.TrimSpace(said.String())))
	}
	if got.Error != "" {
		told := &toldError{text: got.Error}
		switch {
		case got.NoTree:
			told.is = depot.ErrBadTree
		case got.Errno != 0:
			told.is = syscall.Errno(got.Errno)
		}
		return got, told
	}
	return got, err
}

// maxReport bounds what a process of a user can make the broker hold.
const maxReport = wire.MaxFrame + 1024

// bounded keeps the beginning of what is written.
type bounded struct{ kept *bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	b.kept.Write(p[:min(len(p), maxReport-b.kept.Len())])
	return len(p), nil
}

// toldError says what went wrong in a process of the user, and is what it was
// there: whether it is worth another try depends on that.
type toldError struct {
	text string
	is   error // nil: nothing that is known here
}

func (e *toldError) Error() string { return e.text }
func (e *toldError) Unwrap() error { return e.is }

// ServeRequest does one errand, as the user whose process this is. It returns the exit
// code of the process.
func ServeRequest() int {
	syscall.Umask(0o022)
	in := bufio.NewReader(os.Stdin)
	var e userRequest
	var r report
	err := wire.ReadFrame(in, &e)
	if err == nil {
		r, err = e.runRequest(in)
	}
	if err != nil {
		r.Error, r.NoTree = err.Error(), errors.Is(err, depot.ErrBadTree)
		var errno syscall.Errno
		if errors.As(err, &errno) {
			r.Errno = uint32(errno)
		}
	}
	if wire.WriteFrame(os.Stdout, &r) != nil {
		return 1 // nobody listens
	}
	return 0
}

func (e *userRequest) runRequest(content io.Reader) (r report, err error) {
	ctx := context.Background()
	own := OwnUser{depot.NewClient(&http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", e.Broker)
		},
		DisableCompression: true,
	}}, "http://broker"+wire.Depot)}
	switch {
	case e.Results != nil:
		r.Placed, err = own.PutBack(ctx, e.Results)
	case e.Output != nil:
		var marker *os.File
		if e.Output.Append {
			marker = os.NewFile(3, "marker")
		}
		err = writeOutput(e.Output, marker, content)
	default:
		r.Tree, err = own.GatherFiles(ctx, e.Gather)
	}
	return r, err
}
