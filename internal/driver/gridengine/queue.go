package gridengine

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver/batch"
)

// job is one job as qstat describes it. One of several hosts is described once
// for each of its slots.
type job struct {
	ID        string `xml:"JB_job_number"`
	Name      string `xml:"JB_name"`
	FullName  string `xml:"full_job_name"`
	Owner     string `xml:"JB_owner"`
	State     string `xml:"state"`
	Start     string `xml:"JAT_start_time"`
	QueueName string `xml:"queue_name"` // queue@host
	Master    string `xml:"master"`     // MASTER where the script runs
	Slots     int    `xml:"slots"`
}

// instance is a queue on one host.
type instance struct {
	Name     string `xml:"name"` // queue@host
	Type     string `xml:"qtype"`
	Used     int    `xml:"slots_used"`
	Reserved int    `xml:"slots_resv"`
	Total    int    `xml:"slots_total"`
	Arch     string `xml:"arch"`
	State    string `xml:"state"`
	Jobs     []job  `xml:"job_list"`
}

// status is what qstat -xml prints.
type status struct {
	Running   []job      `xml:"queue_info>job_list"`
	Instances []instance `xml:"queue_info>Queue-List"`
	Pending   []job      `xml:"job_info>job_list"`
}

// parseStatus reads what qstat -xml prints.
func parseStatus(data []byte) (*status, error) {
	s := new(status)
	return s, parseXML(data, "job_info", s)
}

// parseXML reads one document. Names of jobs may hold any bytes, those that XML
// does not know become question marks.
func parseXML(data []byte, root string, into any) error {
	clean := bytes.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' || r >= ' ' && r != 0xFFFE && r != 0xFFFF {
			return r
		}
		return '?'
	}, bytes.ToValidUTF8(data, []byte("?")))
	dec := xml.NewDecoder(bytes.NewReader(clean))
	dec.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	for {
		token, err := dec.Token()
		if err != nil {
			return fmt.Errorf("not what Grid Engine prints: %w", err)
		}
		start, ok := token.(xml.StartElement)
		switch {
		case !ok:
		case start.Name.Local != root:
			return fmt.Errorf("not what Grid Engine prints: <%s> instead of <%s>", start.Name.Local, root)
		default:
			if err := dec.DecodeElement(into, &start); err != nil {
				return fmt.Errorf("not what Grid Engine prints: %w", err)
			}
			return nil
		}
	}
}

// parseTime reads a time that qstat printed in UTC.
func parseTime(text string) time.Time {
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04:05.000"} {
		if t, err := time.Parse(layout, strings.TrimSpace(text)); err == nil && t.Year() > 1970 {
			return t
		}
	}
	return time.Time{}
}

// stateOf reads a state such as qw, hqw, r, t, Rr, S, dr. Jobs in error, such as
// Eqw, never start.
func stateOf(text string) (s batch.State, failed bool) {
	switch {
	case strings.Contains(text, "E"):
		return batch.Pending, true
	case strings.Contains(text, "d"):
		return batch.Leaving, false
	case strings.Contains(text, "q"), strings.Contains(text, "w"):
		return batch.Pending, false
	}
	return batch.Running, false
}

// hostOf is the host of queue@host.
func hostOf(queue string) string {
	_, host, _ := strings.Cut(strings.TrimSpace(queue), "@")
	return host
}

// queueEntries are those of a user's jobs whose name begins with prefix, each once,
// by number; failed are those that Grid Engine could not start.
func queueEntries(s *status, user, prefix string) (list []batch.Entry, failed []string) {
	byID := map[string]*batch.Entry{}
	all := slices.Concat(s.Running, s.Pending)
	for _, q := range s.Instances {
		all = append(all, q.Jobs...)
	}
	for _, j := range all {
		id, name := strings.TrimSpace(j.ID), j.FullName
		if name == "" {
			name = j.Name
		}
		if !jobNumber().MatchString(id) || j.Owner != user || !strings.HasPrefix(name, prefix) {
			continue
		}
		state, broken := stateOf(j.State)
		e := byID[id]
		if e == nil {
			e = &batch.Entry{ID: id, Name: name, State: state, Start: parseTime(j.Start)}
			byID[id] = e
			if broken {
				failed = append(failed, id)
			}
		}
		host := hostOf(j.QueueName)
		switch i := slices.Index(e.Hosts, host); {
		case host == "":
		case strings.TrimSpace(j.Master) == "MASTER": // comes first
			if i >= 0 {
				e.Hosts = slices.Delete(e.Hosts, i, i+1)
			}
			e.Hosts = slices.Insert(e.Hosts, 0, host)
		case i < 0:
			e.Hosts = append(e.Hosts, host)
		}
	}
	for _, id := range failed {
		delete(byID, id)
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		list = append(list, *byID[id])
	}
	return list, failed
}

// ListQueue lists our jobs. Those in error are taken away, those on hosts that are
// silent left out, so that both count as gone: Ended knows why.
func (m *Manager) ListQueue(ctx context.Context, prefix string) ([]batch.Entry, error) {
	out, err := m.cmd.runCommand(ctx, "qstat", "-xml", "-r", "-g", "t", "-s", "a", "-u", m.user)
	if err != nil {
		return nil, classifyError(err)
	}
	s, err := parseStatus(out)
	if err != nil {
		return nil, err
	}
	list, failed := queueEntries(s, m.user, prefix)
	if err := m.takeAway(ctx, failed); err != nil {
		return nil, err
	}
	list = m.withoutSilent(ctx, list)
	m.rememberPending(list)
	m.explainPending(ctx, list)
	return list, nil
}

// rememberPending notes who has not begun.
func (m *Manager) rememberPending(list []batch.Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	// Those that are gone are asked for soon, if at all.
	const most = 100_000
	if len(m.waited) > most || m.waited == nil {
		m.waited = map[string]bool{}
	}
	for _, e := range list {
		if e.State == batch.Pending {
			m.waited[e.ID] = true
		} else {
			delete(m.waited, e.ID)
		}
	}
}

// takeAway deletes jobs that Grid Engine could not start, and remembers why it
// could not.
func (m *Manager) takeAway(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	for _, id := range ids {
		m.mu.Lock()
		_, known := m.broken[id]
		m.mu.Unlock()
		if known {
			continue
		}
		out, err := m.cmd.runCommand(ctx, "qstat", "-j", id)
		if err != nil {
			return classifyError(err)
		}
		m.mu.Lock()
		m.broken[id] = errorReason(out)
		m.mu.Unlock()
	}
	return m.CancelJobs(ctx, ids)
}

// stamp is what stands before the words of an execd: a moment and a process.
var stamp = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\d+:)?\s*\d+/\d+/\d+ \d+:\d+:\d+ \[[0-9:]+\]: (error: )?`)
})

// errorReason finds in what qstat -j prints why a job is in error.
func errorReason(text []byte) string {
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "error reason"); ok {
			return oneLine(stamp().ReplaceAllString(strings.TrimSpace(rest), ""))
		}
	}
	return "Grid Engine does not say why"
}
