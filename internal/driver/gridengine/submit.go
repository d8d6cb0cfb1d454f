package gridengine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/batch"
)

// jobName is a name that Grid Engine takes: it may not begin with a digit.
var jobName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9.-]{0,200}$`)
})

// variable is what Grid Engine replaces in the names of folders, such as $HOME.
var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{?[A-Za-z_]`) })

// jobNumber is all that qsub -terse prints.
var jobNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[1-9][0-9]{0,17}$`) })

// SubmitJob hands a script to qsub.
func (m *Manager) SubmitJob(ctx context.Context, r *batch.Request) (string, error) {
	args, err := m.qsubArguments(r)
	if err != nil {
		return "", err
	}
	out, err := m.cmd.runCommand(ctx, "qsub", args...)
	if err != nil {
		return "", classifyError(err)
	}
	id := strings.TrimSpace(string(out))
	if !jobNumber().MatchString(id) {
		return "", fmt.Errorf("qsub answers %q, which is not the number of a job", oneLine(id))
	}
	return id, nil
}

// qsubArguments is what qsub is asked for. -clear takes away what files of requests in
// the home folder or of the site add, -C stops the search of the script for
// options, -w e has refused at once what no queue will ever grant, whether its
// hosts are up or not. The output is named relative to the working folder: in a
// whole path colons and commas would mean something.
func (m *Manager) qsubArguments(r *batch.Request) ([]string, error) {
	if !jobName().MatchString(r.Name) {
		return nil, fmt.Errorf("%w: %q is not a name for a job of Grid Engine", driver.ErrRefused, r.Name)
	}
	if !filepath.IsAbs(r.Script) || !filepath.IsAbs(r.Output) {
		return nil, fmt.Errorf("%w: %s and %s have to be whole paths", driver.ErrRefused, r.Script, r.Output)
	}
	folder, output := filepath.Dir(r.Output), filepath.Base(r.Output)
	if variable().MatchString(r.Output) {
		folder, output = "/", "/dev/null"
	}
	args := []string{"-terse", "-clear", "-C", "", "-b", "n", "-N", r.Name, "-wd", folder, "-o", output,
		"-j", "y", "-S", "/bin/sh", "-r", "n", "-w", "e"}
	args, pe := m.scriptOptions(args, r)
	switch {
	case pe == "" && r.Procs > 1:
		return nil, fmt.Errorf("%w: a job of %d cores needs a parallel environment; the settings name none (pe)",
			driver.ErrRefused, r.Procs)
	case pe != "":
		args = append(args, "-pe", pe, strconv.Itoa(max(1, r.Procs)))
	}
	if r.Time > 0 {
		args = append(args, "-l", fmt.Sprintf("h_rt=%d", int64((r.Time+time.Second-1)/time.Second)))
	}
	// A host that has so much, not one that has so much left: -w e would refuse
	// that as long as no host is known to have it.
	if r.Memory > 0 {
		args = append(args, "-l", fmt.Sprintf("mem_total=%dK", (r.Memory+1023)/1024))
	}
	if r.Host != "" {
		args = append(args, "-l", "hostname="+r.Host)
	}
	return append(append(args, m.opt.Options...), r.Script), nil
}

// scriptOptions adds the words of the script and the cluster's queue, and says which
// parallel environment the job has: the script knows best how its processes are
// to be spread. Several queues would all be allowed, so that the script may choose
// one only where the cluster's settings do not.
func (m *Manager) scriptOptions(args []string, r *batch.Request) (more []string, pe string) {
	if r.Procs > 1 {
		pe = m.opt.PE
	}
	if m.opt.Queue != "" {
		args = append(args, "-q", m.opt.Queue)
	}
	for _, o := range r.Told {
		switch {
		case o.Name == "pe":
			pe = o.Value
		case (o.Name == "q" || o.Name == "masterq") && m.opt.Queue != "":
		default:
			args = append(args, "-"+o.Name)
			args = append(args, strings.Fields(o.Value)...) // -binding has two
		}
	}
	return args, pe
}

// What is said when something went wrong on the way: nobody knows what was done.
var mishaps = []string{"failed receiving", "answer list", "got read", "timeout", "timed out", "shutting down",
	"out of memory"}

// What is said when the qmaster was certainly not reached, or has certainly not
// taken anything and may do so later.
var absences = []string{
	"connection refused", "can't resolve", "unable to resolve", "unknown host", "no route to host",
	"network is unreachable",
	"jobs are allowed", // so many at a time, of one user or of all
}

// What is said in both cases.
var troubles = []string{"commlib", "communication", "unable to contact qmaster", "unable to send message",
	"cannot reach qmaster", "can't connect",
	"got select", "got send", "no space left", "disk full"}

// What is said when it is no use to ask again.
var refusals = []string{
	"unable to run job", "denied", "rejected", "unknown option", "invalid option", "error!", "unknown resource",
	"no suitable queues", "unable to read script",
}

// classifyError tells refusals from what may pass.
func classifyError(err error) error {
	var gone *missing
	if errors.As(err, &gone) {
		return fmt.Errorf("%w: %w", driver.ErrAway, err)
	}
	var f *failure
	if !errors.As(err, &f) || f.Code < 0 {
		return err
	}
	switch {
	case containsAny(f.Says, mishaps): // whatever was said after that: it may be of another try
		return err
	case containsAny(f.Says, absences):
		return fmt.Errorf("%w: %w", driver.ErrAway, err)
	case containsAny(f.Says, troubles):
		return err
	case containsAny(f.Says, refusals):
		return fmt.Errorf("%w: %s", driver.ErrRefused, strings.TrimPrefix(f.Says, "Unable to run job: "))
	}
	return err
}

func containsAny(text string, words []string) bool {
	text = strings.ToLower(text)
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}
