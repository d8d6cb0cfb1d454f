// Package sandbox is the checkpoint method for any program that runs on one
// host: it runs in a gVisor sandbox, whose memory, processes, threads, pipes and
// open files can be written into an image and read back elsewhere. The program
// needs no change and does not notice. It works as root and as an ordinary user.
//
// Inside, the work folder stands at Workdir, the same everywhere; the rest of
// the host is there to be read; /tmp is the program's own, goes along with the
// image and ends with the program. There is no network, because connections to the
// outside could not be taken along; programs of one sandbox reach each other by the
// loopback. What a program tries of that all the same is noted: see DeniedCalls.
//
// The package starts the binary godwit-sandbox, gVisor and a supervisor, and
// speaks to it over a socket. It must not know of brokers, depots or
// predictions.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
)

// Workdir is where a program finds its work folder, on every host.
const Workdir = "/godwit"

// reportFolder is where it finds the folder by which it and whoever runs it talk, on every host.
const reportFolder = "/dev/godwit"

// Name is the method's name in job files.
const Name = "sandbox"

// Method runs programs in gVisor sandboxes. Its zero value is ready for use.
type Method struct {
	// Binary is the path of godwit-sandbox; "" looks for it: see FindBinary.
	Binary string
}

var _ checkpoint.Method = Method{}

// Name is what job files call the method.
func (Method) Name() string { return Name }

// StartProgram runs the program, from the beginning or from an image. An image made on
// a host that had other versions of the files the program uses gives a
// *ForeignError.
func (m Method) StartProgram(ctx context.Context, p *checkpoint.Program, image string) (checkpoint.Run, error) {
	if err := checkProgram(p); err != nil {
		return nil, err
	}
	binary := m.Binary
	if binary == "" {
		found, err := FindBinary()
		if err != nil {
			return nil, err
		}
		binary = found
	}
	if image != "" {
		// The supervisor works in a folder of its own.
		abs, err := filepath.Abs(image)
		if err != nil {
			return nil, fmt.Errorf("finding the image %s: %w", image, err)
		}
		image = abs
	}
	c, err := prepareCell(p, image)
	if err != nil {
		return nil, err
	}
	r, err := launchSupervisor(ctx, binary, p, c, image)
	if err != nil {
		// What cannot be removed now is removed with the attempt's folder.
		_ = os.RemoveAll(c.dir)
		return nil, err
	}
	return r, nil
}

// checkProgram says what is missing in a program that nobody could run.
func checkProgram(p *checkpoint.Program) error {
	switch {
	case len(p.Argv) == 0 || p.Argv[0] == "":
		return &checkpoint.LaunchError{Code: notFound, Why: "no program is named"}
	case !filepath.IsAbs(p.Dir) || !filepath.IsAbs(p.Scratch):
		return fmt.Errorf("the working directory %q and the scratch folder %q must be absolute paths", p.Dir, p.Scratch)
	case p.Stdout == nil || p.Stderr == nil:
		return errors.New("a program in a sandbox needs files for its output")
	}
	return nil
}

// cell is a sandbox about to be made: its folders and what stands in them.
type cell struct {
	dir    string // all of it; removed when the run has ended
	record record // what an image of it must say
}

func (c cell) rootFolder() string   { return filepath.Join(c.dir, "root") }   // what the program finds at /
func (c cell) bundleFolder() string { return filepath.Join(c.dir, "bundle") } // what gVisor is told
func (c cell) stateFolder() string  { return filepath.Join(c.dir, "state") }  // gVisor's own files
func (c cell) emptyFolder() string  { return filepath.Join(c.dir, "empty") }  // stands for a folder this host has not
func (c cell) logFile() string      { return filepath.Join(c.dir, "log") }    // what the supervisor complains about

// prepareCell makes the folders of a sandbox: for a new program from what the host
// has, for an image from what the image remembers.
func prepareCell(p *checkpoint.Program, image string) (cell, error) {
	c := cell{dir: filepath.Join(p.Scratch, "sandbox")}
	if err := os.RemoveAll(c.dir); err != nil {
		return c, fmt.Errorf("clearing the sandbox's folder: %w", err)
	}
	var err error
	if image == "" {
		c.record, err = describeProgram(p)
	} else if c.record, err = readRecord(image); err == nil {
		err = c.record.checkFits(image)
	}
	if err == nil && image != "" {
		err = c.record.checkGPUs(len(p.GPUs) > 0, driverVersion())
	}
	if err == nil && c.record.Report && p.Report == "" {
		err = errors.New("the program has a folder by which it reports, and there is none here")
	}
	if err != nil {
		return c, err
	}
	if err := c.writeFolders(p); err != nil {
		_ = os.RemoveAll(c.dir) // a half made sandbox is of no use, and the first error is the one to tell
		return c, fmt.Errorf("making the sandbox's folder: %w", err)
	}
	return c, nil
}
