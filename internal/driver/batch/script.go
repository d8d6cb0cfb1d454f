package batch

import (
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
)

// What an attempt's folder holds beside what agents know.
const (
	scriptFile    = "script"
	submittedFile = "submitted.json" // the manager has taken the job
	outputFile    = "manager.out"    // what the script, and the manager about it, said
)

// jobScript starts an agent on a folder. Nothing stands in it but paths and names of
// ours: what users say stays in the folder's file. Where the manager does not give
// a job what every login has, the least of it is made up for.
func (d *Driver) jobScript(agent, dir string) []byte {
	var s strings.Builder
	s.WriteString("#!/bin/sh\n")
	if p, ok := d.manager.(Prefacer); ok {
		s.WriteString(p.ScriptPreface())
	}
	fallback := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&s, "[ -n \"$%s\" ] || export %s=%s\n", name, name, shellQuote(value))
		}
	}
	fallback("PATH", "/usr/local/bin:/usr/bin:/bin")
	if u, err := user.Current(); err == nil {
		fallback("HOME", u.HomeDir)
		fallback("USER", u.Username)
		fallback("LOGNAME", u.Username)
	}
	fmt.Fprintf(&s, "exec %s agent --guard %s\n", shellQuote(agent), shellQuote(dir))
	return []byte(s.String())
}

// shellQuote makes one word of the shell.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// submitted is the content of that file.
type submitted struct {
	Job string `json:"job"` // the manager's name for it; "": it came and went unseen
}

func noteSubmitted(dir, job string) error {
	data, err := json.Marshal(submitted{job})
	if err != nil {
		return err
	}
	return attemptdir.ReplaceFile(dir, submittedFile, data)
}

// wasSubmitted says whether the manager has had a job for the attempt, as far as
// its folder tells, and which.
func wasSubmitted(dir string) (job string, ok bool) {
	if data, err := os.ReadFile(filepath.Join(dir, submittedFile)); err == nil {
		var s submitted
		if json.Unmarshal(data, &s) == nil {
			return s.Job, true
		}
	}
	return "", hasRun(dir)
}

// hasRun says whether an agent has been at work on the folder.
func hasRun(dir string) bool {
	return attemptdir.HasFile(dir, attemptdir.StartedFile) || attemptdir.HasFile(dir, attemptdir.KnownFile) ||
		attemptdir.HasFile(dir, attemptdir.LostFile)
}

// lastSaid is the last line of what the script said, shortened; "" if it said
// nothing.
func lastSaid(dir string) string {
	const enough = 4 << 10
	f, err := os.Open(filepath.Join(dir, outputFile))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // only read from
	if st, err := f.Stat(); err == nil && st.Size() > enough {
		_, _ = f.Seek(-enough, 2)
	}
	buf := make([]byte, enough)
	n, _ := f.Read(buf)
	lines := strings.Split(strings.TrimSpace(string(buf[:n])), "\n")
	return OneLine(lines[len(lines)-1])
}

// OneLine makes a text fit for one line that people read.
func OneLine(s string) string {
	const most = 400
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
	if len(s) > most {
		s = s[:most] + " …"
	}
	return strings.ToValidUTF8(s, "")
}
