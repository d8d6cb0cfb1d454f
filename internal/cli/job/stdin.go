package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// maxStdin is how much standard input goes along with a job.
const maxStdin = 1 << 30

// stdinSilence is how long nothing is said while standard input is read.
const stdinSilence = 2 * time.Second

// sendStdin brings standard input, if it is a pipe or a file that holds something,
// into the broker's depot and returns its tree; "": there is none. A terminal is
// not read.
func (a *app) sendStdin(ctx context.Context, c *api.Client) (string, error) {
	in, ok := a.Stdin.(*os.File)
	if !ok {
		return "", nil
	}
	info, err := in.Stat()
	if err != nil || info.Mode()&(fs.ModeDevice|fs.ModeDir) != 0 {
		return "", nil // it is closed: the program has none
	}
	dir, err := os.MkdirTemp("", "godwit-stdin-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left is in the folder for temporary files
	slow := time.AfterFunc(stdinSilence,
		func() { a.SayLine("reading standard input until its end … (-n or < /dev/null: the job has none)") })
	n, err := spoolStdin(ctx, in, filepath.Join(dir, jobfile.StdinFile), maxStdin)
	slow.Stop()
	if err != nil || n == 0 {
		return "", err
	}
	id, _, _, err := depot.PushFolder(ctx, dir, depot.NewClient(c.HTTP, api.Base+"/v1/depot"), depot.PushOptions{})
	if err != nil {
		return "", fmt.Errorf("sending standard input: %w", err)
	}
	return string(id), nil
}

// spoolStdin copies standard input to a file until its end, or until ctx is done.
func spoolStdin(ctx context.Context, in io.Reader, file string, most int64) (int64, error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	type copied struct {
		n   int64
		err error
	}
	done := make(chan copied, 1)
	go func() { // a read of a pipe that nobody writes to cannot be ended
		n, err := io.Copy(f, io.LimitReader(in, most+1))
		done <- copied{n, errors.Join(err, f.Close())}
	}()
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case c := <-done:
		if c.err != nil {
			return 0, fmt.Errorf("reading standard input: %w", c.err)
		}
		if c.n > most {
			return 0, &badinput.Error{Field: "standard input",
				Want: fmt.Sprintf("at most %d MiB; send a larger file along with --input", most>>20)}
		}
		return c.n, nil
	}
}
