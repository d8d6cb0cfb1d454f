package job

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/godwit-hpc/godwit/internal/cli/sendfolder"
	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// ignoreFile lists what stays behind, as .gitignore does for git. What git
// ignores is sent: programs and data usually are among it.
const ignoreFile = ".godwitignore"

// sendWork brings the working directory of a job into the broker's depot and returns the
// tree; "" if the job has none.
func (a *app) sendWork(ctx context.Context, c *api.Client, job *jobfile.Job) (string, error) {
	if err := a.checkWorkdir(job); err != nil {
		return "", err
	}
	dir, cache := job.Workdir, ""
	if dir != "" {
		if state, err := api.StateDir(); err == nil {
			sum := sha256.Sum256([]byte(dir))
			cache = filepath.Join(state, "sent", hex.EncodeToString(sum[:8])+".json")
		}
	}
	exclude, err := readExcludes(dir)
	if err != nil {
		return "", err
	}
	if state, err := api.StateDir(); err == nil {
		if rel, err := filepath.Rel(dir, state); err == nil && filepath.IsLocal(rel) { // it changes all the time
			exclude = append(exclude, "/"+filepath.ToSlash(rel))
		}
	}
	if hasOutside(job) {
		staged, err := sendfolder.StageWorkFolder(job)
		if err != nil {
			return "", err
		}
		defer staged.RemoveFolder()
		dir, cache = staged.Dir, ""
	}
	if dir == "" {
		return "", nil
	}
	limit, err := workLimit(ctx, c)
	if err != nil {
		return "", err
	}
	to := depot.NewClient(c.HTTP, api.Base+"/v1/depot")
	sending := newSending(a, job.Workdir)
	id, _, _, err := depot.PushFolder(ctx, dir, to,
		depot.PushOptions{Exclude: exclude, Cache: cache, Limit: limit, Progress: sending.showProgress})
	sending.clearLine()
	if errors.Is(err, depot.ErrTooLarge) {
		return "", &badinput.Error{Field: "workdir", Value: job.Workdir,
			Problem: "too large: choose a smaller one with --workdir (none sends nothing), list in " + ignoreFile +
				" what stays behind, or raise the limits in the broker's settings", Err: err}
	}
	if err != nil {
		return "", fmt.Errorf("sending the working directory %s: %w", job.Workdir, err)
	}
	return string(id), nil
}

// workLimit is the largest work folder that the broker takes.
func workLimit(ctx context.Context, c *api.Client) (depot.Limit, error) {
	ping, err := c.PingBroker(ctx)
	return depot.Limit(ping.Limit), err
}

// readExcludes is what stays behind of a work folder.
func readExcludes(dir string) ([]string, error) {
	list := []string{".git"}
	if dir == "" {
		return list, nil
	}
	f, err := os.Open(filepath.Join(dir, ignoreFile))
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if line := strings.TrimRight(lines.Text(), " \t\r"); line != "" && line[0] != '#' {
			list = append(list, line)
		}
	}
	return list, lines.Err()
}

// hasOutside says whether files from outside the work folder go along.
func hasOutside(job *jobfile.Job) bool {
	for _, in := range job.Inputs {
		if filepath.IsAbs(in) {
			return true
		}
	}
	return false
}
