package server

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// showMetrics answers in Prometheus' text format. No user and no job is named.
func (s *server) showMetrics(w http.ResponseWriter, r *http.Request) {
	clusters, err := s.clusterList(r.Context(), false)
	if err != nil {
		refuseRequest(w, err)
		return
	}
	f := s.Broker.ReadFigures(r.Context())
	m := &metricsWriter{}
	m.family("godwit_build_info", "gauge", "The version that runs.")
	m.sample("godwit_build_info", 1, "version", s.Version)
	m.family("godwit_jobs", "gauge", "Jobs by state.")
	for state := core.Submitted; state <= core.Cancelled; state++ {
		m.sample("godwit_jobs", float64(f.Jobs[state]), "state", strings.ToLower(state.String()))
	}
	m.clusters(clusters)
	m.histogram("godwit_job_wait_seconds", "From the submission of a job to its first start.", &f.Waits)
	m.histogram("godwit_job_run_seconds", "From the first start of a job to its end.", &f.Runs)
	m.histogram("godwit_turn_seconds", "Deciding, and storing what was decided.", &f.Turns)
	for _, c := range []struct {
		name, help string
		value      float64
	}{{"godwit_deadlines_met_total", "Jobs that ended in time.", float64(f.Met)},
		{"godwit_deadlines_missed_total", "Jobs that did not.", float64(f.Missed)},
		{"godwit_moves_total", "Attempts that were stopped to be continued.", float64(f.Moves)},
		{"godwit_attempts_lost_total", "Attempts that were lost.", float64(f.Lost)},
		{"godwit_checkpoints_total", "Checkpoints saved.", float64(f.Checkpoints)},
		{"godwit_checkpoint_bytes_total", "Their size.", float64(f.CheckpointBytes)},
		{"godwit_events_total", "Events in the log.", float64(f.Events)}} {
		m.family(c.name, "counter", c.help)
		m.sample(c.name, c.value)
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = w.Write(m.out.Bytes()) // the client has gone: nobody to tell
}

type metricsWriter struct{ out bytes.Buffer }

func (m *metricsWriter) family(name, kind, help string) {
	fmt.Fprintf(&m.out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// sample writes a value with labels: names and values in turn.
func (m *metricsWriter) sample(name string, value float64, labels ...string) {
	m.out.WriteString(name)
	for i := 0; i+1 < len(labels); i += 2 {
		m.out.WriteString([]string{"{", ","}[min(i, 1)])
		escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(labels[i+1])
		m.out.WriteString(labels[i] + `="` + escaped + `"`)
	}
	if len(labels) > 0 {
		m.out.WriteByte('}')
	}
	m.out.WriteString(" " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
}

func (m *metricsWriter) histogram(name, help string, h *broker.Histogram) {
	m.family(name, "histogram", help)
	total := uint64(0)
	for i, n := range h.Counts {
		total += n
		le := "+Inf"
		if i < len(h.Bounds) {
			le = strconv.FormatFloat(h.Bounds[i], 'g', -1, 64)
		}
		m.sample(name+"_bucket", float64(total), "le", le)
	}
	m.sample(name+"_sum", h.Sum)
	m.sample(name+"_count", float64(total))
}

func (m *metricsWriter) clusters(list []api.Cluster) {
	for _, g := range []struct {
		name, help string
		value      func(*api.Cluster) float64
	}{
		{"godwit_cluster_up", "1: the cluster is in reach.", func(c *api.Cluster) float64 {
			if c.State == "down" {
				return 0
			}
			return 1
		}},
		{"godwit_cluster_cores", "Cores of the cluster.", func(c *api.Cluster) float64 { return float64(c.Procs) }},
		{"godwit_cluster_idle_cores", "Cores that nobody holds.", func(c *api.Cluster) float64 { return float64(c.Idle) }},
		{"godwit_cluster_running_jobs", "Jobs that run there.", func(c *api.Cluster) float64 { return float64(c.Running) }},
		{"godwit_cluster_waiting_jobs", "Jobs that wait there.", func(c *api.Cluster) float64 { return float64(c.Waiting) }},
	} {
		m.family(g.name, "gauge", g.help)
		for i := range list {
			m.sample(g.name, g.value(&list[i]), "cluster", list[i].Name)
		}
	}
}
