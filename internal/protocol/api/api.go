// Package api is what the command line and the broker say to each other: the
// requests, the answers, and a client that speaks HTTP over the broker's Unix
// socket. Its JSON fields are fixed, other programs read them. It must not know
// how the broker works nor how answers are printed.
//
//	GET  /v1/ping                                      → Ping
//	POST /v1/jobs                   Submit             → Submitted
//	GET  /v1/jobs?all=1&users=1                        → []Job, newest first; without all those that live and the last few; with users those of all, for root
//	GET  /v1/jobs?limit=…&cursor=…&state=…&fields=…    → JobPage; with any of cursor, limit, fields, state, cluster, program, name, text, deadline
//	POST /v1/jobs/bulk              SubmitMany         → SubmittedMany
//	GET  /v1/jobs/{id}/timeline                        → Timeline
//	GET  /v1/events?job=…&since=…                      → server-sent events: Changes, with the number of an event as id
//	GET  /v1/openapi.json                              → this, for machines
//	GET  /metrics                                      → figures in Prometheus' text format
//	GET  /v1/select?job=…&job=…&newest=1               → []Job that the references name, see package jobref
//	GET  /v1/jobs/{id}                                 → Job; id is the number or the uid
//	POST /v1/jobs/{id}/cancel?now=1                    → Job, when it has ended and its files are home, or have to wait; with now without a time of grace
//	POST /v1/jobs/{id}/migrate      Migrate            → Done
//	POST /v1/jobs/{id}/resize       Resize             → Done
//	POST /v1/jobs/{id}/checkpoint                      → Done, with the checkpoint
//	POST /v1/jobs/{id}/hold|release|suspend|resume     → Done
//	POST /v1/jobs/{id}/requeue      Requeue            → Done
//	POST /v1/jobs/{id}/update       Update             → Done
//	GET  /v1/jobs/{id}/explain                         → []Decision, oldest first
//	GET  /v1/jobs/{id}/logs?stream=1&offset=0&follow=1 → the bytes; with follow until the job has ended
//	GET  /v1/jobs/{id}/watch                           → lines of Live, the last one with Final
//	POST /v1/flows                  FlowSubmit         → FlowSubmitted
//	GET  /v1/flows?all=1&users=1                       → []Flow, newest first, without kinds; all and users as of jobs
//	GET  /v1/flows/{id}                                → Flow; id is the number, the name, last, or key: and the key
//	GET  /v1/flows/{id}/tasks                          → []FlowTask
//	POST /v1/flows/{id}/cancel                         → Flow, when nothing of it runs any more
//	GET  /v1/flows/{id}/explain                        → []Decision, oldest first
//	GET  /v1/flows/{id}/watch                          → lines of FlowLive, the last one with Final
//	POST /v1/quote                  Submit             → []Quote, best first
//	POST /v1/estimates              Commands           → []Estimate, one for each
//	GET  /v1/clusters                                  → []Cluster
//	POST /v1/drain                  Drains             → []Drained, one for each name
//	POST /v1/undrain                Drains             → []Drained, one for each name
//	GET  /v1/history?program=…                         → []History
//	GET  /v1/history/calibration                       → Calibration
//	GET  /v1/log?since=0                               → the log as lines, see package brokerlog; since in nanoseconds since 1970
//	GET  /v1/weather?over=60&since=3600                → Weather; over and since in seconds
//	GET  /v1/weather/graph?on=…                        → Graph
//	GET  /v1/hosts?on=…                                → []Host
//	POST /v1/shutdown                                  → Done; the broker ends, jobs run on
//	GET  /v1/depot-usage?older_s=600                   → DepotUsage
//	POST /v1/depot-prune            DepotPrune         → DepotUsage, after pruning
//	     /v1/depot/                                    the chunks of work folders, see package depot
//
// One broker may serve several users. Who asks is the user of the process at the
// other end of the socket, and sees and touches nobody's jobs but their own; the
// job of somebody else is answered as one that there never was. Root sees all.
//
// Whatever is no success answers with Error and an HTTP status of 400 or more.
package api

import (
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Time is a moment as JSON has it: in UTC, to the millisecond, always equally
// long, so that its texts sort as the moments do.
type Time struct{ time.Time }

const timeLayout = "2006-01-02T15:04:05.000Z"

// TimeAt is the moment of the broker's clock; nil for 0, which stands for none.
func TimeAt(t core.Time) *Time {
	if t == 0 || t == core.Never {
		return nil
	}
	return &Time{time.Unix(0, int64(t))}
}

// MarshalText writes the moment.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.UTC().Format(timeLayout)), nil }

// MarshalJSON hides that of time.Time.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(t.UTC().Format(`"` + timeLayout + `"`)), nil
}

// Ping says who answers.
type Ping struct {
	Version  string `json:"version"`
	PID      int    `json:"pid"`
	Embedded bool   `json:"embedded"` // started by run, submit or quote; ends by itself when idle
	State    string `json:"state"`    // its folder
	Jobs     int    `json:"jobs"`     // that have not ended
	Limit    Limit  `json:"limit"`
	Stale    bool   `json:"stale,omitempty"` // the settings were changed since it read them
}

// Reloaded is what became of settings that were read again.
type Reloaded struct {
	File     string   `json:"file"` // "": there is none, the defaults count
	Added    []string `json:"added,omitempty"`
	Changed  []string `json:"changed,omitempty"`
	Removed  []string `json:"removed,omitempty"`
	Draining int      `json:"draining,omitempty"` // jobs that are in clusters that were removed
	Place    bool     `json:"place,omitempty"`    // policy.place is another one
	// something else changed, which counts from the next start of the broker on
	AtStart bool `json:"at_start,omitempty"`
}

// Limit is the largest work folder that a job may bring along; more is usually a
// home folder by mistake.
type Limit struct {
	Bytes int64 `json:"bytes"`
	Files int   `json:"files"`
}

// Submit is a job to be run, or to be quoted.
type Submit struct {
	Job  jobfile.Job `json:"job"`
	Work string      `json:"work,omitempty"` // tree in the depot; "": the job has no work folder
	// Stdin is a tree in the depot with one file, jobfile.StdinFile, which the
	// program reads as its standard input; "": it has none.
	Stdin string `json:"stdin,omitempty"`
	// Made are files that other jobs made: they lie in the work folder as those left
	// them, in place of what Work has there.
	Made []Made `json:"made,omitempty"`
}

// Made is files of another job, by their names in its work folder.
type Made struct {
	Job   core.JobID `json:"job"`
	Files []string   `json:"files"`
}

// Submitted is what became of it: one number, or one for each index of an array.
type Submitted struct {
	IDs []core.JobID `json:"ids"`
}

// Migrate asks for a job to be moved.
type Migrate struct {
	To string `json:"to,omitempty"` // a cluster; "": wherever it ends soonest
}

// Resize is the size that a job is to have.
type Resize struct {
	Cores int  `json:"cores"`
	Auto  bool `json:"auto,omitempty"` // as many as the broker's policy gives it; Cores is 0 then
}

// Requeue says how a job is requeued.
type Requeue struct {
	Hold bool `json:"hold,omitempty"` // it waits until it is released
}

// Update is what is to be otherwise with a job. What is not named stays as it is.
type Update struct {
	Deadline   *Time  `json:"deadline,omitempty"`
	NoDeadline bool   `json:"no_deadline,omitempty"`
	Begin      *Time  `json:"begin,omitempty"`
	BeginNow   bool   `json:"begin_now,omitempty"`
	Name       string `json:"name,omitempty"`
	// Labels get these values; "" takes one away.
	Labels   map[string]string `json:"labels,omitempty"`
	On       []string          `json:"on,omitempty"`       // clusters where it may run
	Anywhere bool              `json:"anywhere,omitempty"` // it may run on any
}

// IsEmpty reports whether it changes nothing.
func (u *Update) IsEmpty() bool {
	return u.Deadline == nil && u.Begin == nil && !u.NoDeadline && !u.BeginNow && u.Name == "" && len(u.Labels) == 0 &&
		len(u.On) == 0 && !u.Anywhere
}

// Done is that what was asked for has happened.
type Done struct {
	Text string `json:"text"` // one line for people: "job 3 moved from a to b, 0.8 s"
}

// JobPart is a part of a job that runs in several clusters.
type JobPart struct {
	Cluster  string   `json:"cluster"`
	Hosts    []string `json:"hosts,omitempty"`
	Started  bool     `json:"started"`             // its program began
	ExitCode *int     `json:"exit_code,omitempty"` // of its program, once that has ended
}

// Job is one job as `show` prints it. What is not known, or has not happened, is
// null.
type Job struct {
	ID      core.JobID `json:"id"`
	UID     string     `json:"uid"`
	User    string     `json:"user"`
	Name    string     `json:"name"`
	State   core.State `json:"state"`
	Cluster string     `json:"cluster"` // "" while it has none
	Hosts   []string   `json:"hosts"`
	// HostUsage is how it does on each of its hosts, while it runs on several.
	HostUsage []HostUsage `json:"host_usage,omitempty"`
	Why       string      `json:"why"` // why it is in this state: why it waits, why it failed
	Command   []string    `json:"command"`
	Procs     int         `json:"procs"`
	Index     *int        `json:"index"`           // of an array
	Array     core.JobID  `json:"array,omitempty"` // the number of its array
	Attempts  int         `json:"attempts"`
	// Parts are those of its present attempt, if there are several: Cluster and Hosts are of the first then.
	Parts []JobPart `json:"parts,omitempty"`
	// Held says that its user keeps it from starting, Suspended since when its program is halted.
	Held      bool              `json:"held,omitempty"`
	Suspended *Time             `json:"suspended,omitempty"`
	Begin     *Time             `json:"begin,omitempty"` // it does not start before
	Labels    map[string]string `json:"labels,omitempty"`
	On        []string          `json:"on,omitempty"` // where it may run; none: anywhere
	// Pending is how many jobs of its array it stands for in a list, itself included:
	// those that have not been queued yet are listed as one.
	Pending int `json:"pending,omitempty"`

	Submitted *Time `json:"submitted"`
	Started   *Time `json:"started"` // for the first time
	Ended     *Time `json:"ended"`
	ExitCode  *int  `json:"exit_code"`

	Deadline     *Time    `json:"deadline"`
	DeadlineMet  *bool    `json:"deadline_met"` // once that is certain
	PDeadline    *float64 `json:"p_deadline"`
	Confidence   float64  `json:"confidence"` // acts when p_deadline falls below
	PredictedEnd *Time    `json:"predicted_end"`
	EndEarly     *Time    `json:"predicted_end_p05"`
	EndLate      *Time    `json:"predicted_end_p95"`

	Migrations  int    `json:"migrations"`
	Checkpoints int    `json:"checkpoints"`
	Method      string `json:"method"` // of its checkpoints

	CPUS  float64 `json:"cpu_s"`
	WallS float64 `json:"wall_s"` // that its program ran, without waiting and staging, in all attempts
	// of wall_s, once it has ended: that it waited for something else than a processor; 0 also if that is not known
	WaitingS float64  `json:"waiting_s,omitempty"`
	Progress *float64 `json:"progress"`
	Share    *float64 `json:"share"` // of the processors it asked for, now
	// Slowness is how many times longer than on the reference host the same takes on
	// its processors, in the mean since it began.
	Slowness *float64 `json:"slowness,omitempty"`
	Memory   int64    `json:"memory"`      // resident now
	Peak     int64    `json:"peak_memory"` // the most it had resident
	// Failure is out_of_memory or time_limit; "": the program's own, or none.
	Failure  string   `json:"failure"`
	Warnings []string `json:"warnings,omitempty"` // what its user should know of how it ran

	// Partial says that its files are those of a job that did not run to its end,
	// FilesLost that what its last attempt wrote is lost. MissingOutputs are named
	// in outputs and not there. Unreturned is why its results are not copied back.
	Partial        bool     `json:"partial,omitempty"`
	FilesLost      bool     `json:"files_lost,omitempty"`
	MissingOutputs []string `json:"missing_outputs,omitempty"`
	Unreturned     string   `json:"unreturned,omitempty"`
}

// HostUsage is how a job does on one of its hosts.
type HostUsage struct {
	Host       string   `json:"host"`
	CPUS       float64  `json:"cpu_s"`
	Share      *float64 `json:"share"` // of its processors there, now
	Memory     int64    `json:"memory"`
	Ranks      string   `json:"ranks,omitempty"`       // of parallel programs that run there, as in 0-3,8
	EndedRanks int      `json:"ended_ranks,omitempty"` // that have ended there
	Away       string   `json:"away,omitempty"`        // why nothing is heard from there; the rest is as it was last heard
}

// IsOver says whether the job's life is over.
func (j *Job) IsOver() bool { return j.State.IsTerminal() }

// Live is one line of a watched job: how it is now, and what was decided since
// the line before.
type Live struct {
	Job   Job        `json:"job"`
	News  []Decision `json:"news,omitempty"`
	Final bool       `json:"final,omitempty"`
}

// DepotUsage is what the depot of a user holds: the files that jobs brought along
// or left behind.
type DepotUsage struct {
	Bytes  int64       `json:"bytes"`        // on disk
	Unused int64       `json:"unused_bytes"` // that no job needs, about
	Freed  int64       `json:"freed_bytes,omitempty"`
	Held   []DepotHeld `json:"held"` // what jobs need, the largest first
}

// DepotHeld is something that a job needs. Jobs may share content, which is on
// disk once and compressed.
type DepotHeld struct {
	Job   core.JobID `json:"job"`
	Name  string     `json:"name"`
	User  string     `json:"user"`
	What  string     `json:"what"` // working directory, results, checkpoint 3, input
	Bytes int64      `json:"bytes"`
	AgeS  float64    `json:"age_s"` // since submission
}

// DepotPrune asks to free what no job needs.
type DepotPrune struct {
	OlderS float64 `json:"older_s"` // spares what was sent or used since
	DryRun bool    `json:"dry_run,omitempty"`
}

// Decision is one thing that was decided for a job, as `explain` prints it.
type Decision struct {
	Time   Time           `json:"time"`
	SinceS float64        `json:"since_s"` // after submission
	Kind   string         `json:"kind"`    // place, method, predict, ask, decide, checkpoint, move, end …
	Choice string         `json:"choice"`
	Why    string         `json:"why"`
	Inputs map[string]any `json:"inputs"`
	// News says that somebody who follows the job wants to hear of it: moved,
	// deadline in danger, nobody can meet it.
	News bool `json:"news,omitempty"`
}

// Quote is what one cluster would make of a job.
type Quote struct {
	Cluster   string   `json:"cluster"`
	WaitS     *float64 `json:"wait_s"`
	TransferS *float64 `json:"transfer_s"`
	RunS      *float64 `json:"run_s"` // null: nothing is known of the program
	FinishP50 *Time    `json:"finish_p50"`
	FinishP90 *Time    `json:"finish_p90"`
	PDeadline *float64 `json:"p_deadline"`
	Reason    string   `json:"reason"`
	Fits      bool     `json:"fits"` // the job could run there
}

// Commands are programs of which it is asked how long they run.
type Commands struct {
	Commands []Command `json:"commands"`
}

// Command is one of them, and on how many processors.
type Command struct {
	Argv  []string `json:"argv"`
	Procs int      `json:"procs"`
}

// Estimate is how long a command runs on the reference host with its processors for
// itself, from earlier runs of its program.
type Estimate struct {
	RunS    *float64 `json:"run_s"`   // seconds, the median; null: nothing is known
	Waiting float64  `json:"waiting"` // part of them in which it waits for something else than a processor
	Reason  string   `json:"reason"`
	Same    bool     `json:"same"` // from runs with the same arguments
}

// Cluster is a place where jobs run.
type Cluster struct {
	Name    string   `json:"name"`
	State   string   `json:"state"` // up, down, draining, drained, removed
	Driver  string   `json:"driver"`
	Hosts   int      `json:"hosts"`
	Procs   int      `json:"procs"`
	Idle    int      `json:"idle"`
	Others  int      `json:"others,omitempty"` // cores of a batch system that jobs of others hold, or that are down
	Speed   float64  `json:"speed"`            // relative to the reference host; 0: not measured yet
	Share   float64  `json:"share"`            // of a processor that a newcomer would get
	Running int      `json:"running"`
	Waiting int      `json:"waiting"`
	Methods []string `json:"methods"` // checkpoint methods that work there
	// posterior mean of the success rate, which --reliability compares with; null: no job has ended there yet
	Reliability *float64 `json:"reliability"`
	Ended       int      `json:"ended"`     // attempts that tell of the cluster,
	Succeeded   int      `json:"succeeded"` // and of them those that it brought to their end, in time
	Why         string   `json:"why"`
	Notes       []string `json:"notes,omitempty"` // what of the settings does not hold there
	// Asking: it has not said yet what it consists of. What is known of it is from
	// earlier, or from the settings.
	Asking bool `json:"asking,omitempty"`
	// Drain says that nothing new is placed there; the state is draining then while jobs are there, else drained.
	Drain        *Drain  `json:"drain,omitempty"`
	DrainedHosts []Drain `json:"drained_hosts,omitempty"`
}

// Drain is who had a cluster or a host drained, since when, and why.
type Drain struct {
	Host   string `json:"host,omitempty"` // of a cluster: this one alone
	By     string `json:"by"`
	Since  *Time  `json:"since"`
	Reason string `json:"reason"`
}

// Drains names what is to be drained, or to be used again.
type Drains struct {
	Names  []string `json:"names"` // of clusters, or hosts of them: CLUSTER/HOST
	Reason string   `json:"reason,omitempty"`
}

// Drained is what became of one of them.
type Drained struct {
	Cluster string `json:"cluster"`
	Host    string `json:"host,omitempty"`
	Drain   *Drain `json:"drain"`   // as it is now; null: it is not drained
	Changed bool   `json:"changed"` // false: it was so before
	Jobs    int    `json:"jobs"`    // that are still there
	Text    string `json:"text"`    // one line for people
}

// History is what past runs of one program on one cluster were like.
type History struct {
	Program     string   `json:"program"`
	Cluster     string   `json:"cluster"`
	Runs        int      `json:"runs"`
	Failed      int      `json:"failed"`
	Missed      int      `json:"missed"`  // deadlines
	CPUP50      *float64 `json:"cpu_p50"` // seconds on the reference host
	CPUP90      *float64 `json:"cpu_p90"`
	WallP50     *float64 `json:"wall_p50"`
	WallP90     *float64 `json:"wall_p90"`
	WaitMean    *float64 `json:"wait_mean_s"`
	WaitP90     *float64 `json:"wait_p90_s"`
	Reliability *float64 `json:"reliability"` // as of clusters
	Ended       int      `json:"ended"`
	Succeeded   int      `json:"succeeded"`
	Last        *Time    `json:"last"`
}

// Calibration is how past predictions held.
type Calibration struct {
	Jobs        int        `json:"jobs"`
	Predictions int        `json:"predictions"`
	Bands       []Coverage `json:"bands"`
	MedianError *float64   `json:"median_error"` // of the remaining time, from one third of the run on, as a part of it
	Chances     []Held     `json:"chances"`      // of the chances given for deadlines
}

// Coverage is one width of band and the part of the actual ends inside it.
type Coverage struct {
	Band  float64 `json:"band"` // 0.9
	Held  float64 `json:"held"`
	Count int     `json:"count"`
}

// Held compares chances that were given with what happened.
type Held struct {
	From  float64 `json:"from"` // chances from … to …
	To    float64 `json:"to"`
	Mean  float64 `json:"mean"` // of the chances given
	Met   float64 `json:"met"`  // part of these deadlines that was met
	Count int     `json:"count"`
}

// Error is the answer to a request that did not succeed. Code is the exit code
// that it deserves: 1 the work failed, 2 wrong usage or bad input.
type Error struct {
	Text  string `json:"error"`
	Field string `json:"field,omitempty"`
	Code  int    `json:"code"`
}
