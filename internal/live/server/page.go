package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

const (
	defaultPage = 100
	maxPage     = 1000
)

// pageParameters are those of which any has a list answered as a page. Clients of before
// have none of them, and are answered with a plain list.
var pageParameters = []string{"cursor", "limit", "fields", "state", "cluster", "program", "name", "text", "label",
	"deadline"}

func wantsPage(r *http.Request) bool {
	q := r.URL.Query()
	return slices.ContainsFunc(pageParameters, q.Has)
}

// jobFields is where the fields of a job are, by their names.
var jobFields = func() map[string]int {
	at := map[string]int{}
	for t, i := reflect.TypeFor[api.Job](), 0; i < t.NumField(); i++ {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		at[name] = i
	}
	return at
}()

func parseFields(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	fields := strings.Split(text, ",")
	for _, f := range fields {
		if _, known := jobFields[f]; !known {
			return nil, &badinput.Error{Field: "fields", Value: f, Want: "names of fields of a job, such as id,name,state"}
		}
	}
	return fields, nil
}

func parseStates(text string) ([]core.State, error) {
	var states []core.State
	for _, name := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		var s core.State
		switch name {
		case "waiting":
			states = append(states, core.Submitted, core.Selected, core.Contracted, core.Staging, core.Queued, core.Stopped,
				core.Resuming)
		case "completed":
			states = append(states, core.Done)
		default:
			if err := s.UnmarshalText([]byte(strings.ToUpper(name))); err != nil || s == core.Unknown {
				return nil, &badinput.Error{Field: "state", Value: name,
					Want: "waiting, running, stopping, done, failed, cancelled, or another state of jobs"}
			}
			states = append(states, s)
		}
	}
	slices.Sort(states)
	return slices.Compact(states), nil
}

// parseSearch reads which page is wanted.
func parseSearch(r *http.Request) (q store.Search, err error) {
	q = store.Search{Cluster: r.FormValue("cluster"), Name: r.FormValue("name"), Program: r.FormValue("program"),
		Text: r.FormValue("text"), Label: r.FormValue("label"),
		Deadline: store.DeadlineFilter(r.FormValue("deadline")), Limit: defaultPage}
	if text := r.FormValue("limit"); text != "" {
		if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 1 || q.Limit > maxPage {
			return q, &badinput.Error{Field: "limit", Value: text, Want: "a number from 1 to " + strconv.Itoa(maxPage)}
		}
	}
	if text := r.FormValue("cursor"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return q, &badinput.Error{Field: "cursor", Value: text, Want: "what a page before had as next"}
		}
		q.Below = core.JobID(n)
	}
	switch q.Deadline {
	case store.AnyDeadline, store.WithDeadline, store.NoDeadline, store.MetDeadline, store.MissedDeadline:
	default:
		return q, &badinput.Error{Field: "deadline", Value: string(q.Deadline), Want: "with, without, met or missed"}
	}
	q.States, err = parseStates(r.FormValue("state"))
	return q, err
}

// jobPage is api.JobPage with the wanted fields of each job.
type jobPage struct {
	Jobs   []json.RawMessage  `json:"jobs"`
	Next   string             `json:"next"`
	Counts map[core.State]int `json:"counts"`
	Event  uint64             `json:"event"`
}

func (s *server) listPage(r *http.Request) (jobPage, error) {
	page := jobPage{Jobs: []json.RawMessage{}}
	q, err := parseSearch(r)
	if err != nil {
		return page, err
	}
	fields, err := parseFields(r.FormValue("fields"))
	if err != nil {
		return page, err
	}
	found, err := s.Broker.ListPage(r.Context(), q, r.FormValue("users") != "")
	if err != nil {
		return page, err
	}
	for i := range found.Views {
		j := s.jobFromView(&found.Views[i])
		text, err := encodeFields(&j, fields)
		if err != nil {
			return page, err
		}
		page.Jobs = append(page.Jobs, text)
	}
	if found.Next > 1 { // no job is below the first
		page.Next = strconv.FormatInt(int64(found.Next), 10)
	}
	page.Counts, page.Event = countsByState(&found.Counts), found.Event
	return page, nil
}

func countsByState(counts *[core.Cancelled + 1]int) map[core.State]int {
	all := map[core.State]int{}
	for state, n := range counts {
		if n > 0 && state > 0 {
			all[core.State(state)] = n
		}
	}
	return all
}

// encodeFields is some fields of a job as JSON; none: all.
func encodeFields(j *api.Job, fields []string) ([]byte, error) {
	if fields == nil {
		return json.Marshal(j)
	}
	var b bytes.Buffer
	b.WriteByte('{')
	v := reflect.ValueOf(j).Elem()
	for i, name := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(v.Field(jobFields[name]).Interface())
		if err != nil {
			return nil, err
		}
		b.WriteString(strconv.Quote(name) + ":")
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// maxSubmitMany is how many jobs may be handed in at once.
const maxSubmitMany = 1000

// submitMany hands in several jobs. One that is refused does not keep the others out.
func (s *server) submitMany(r *http.Request) (api.SubmittedMany, error) {
	many, err := readBody[api.SubmitMany](r)
	answer := api.SubmittedMany{Jobs: []api.SubmittedOne{}}
	if err != nil {
		return answer, err
	}
	if n := len(many.Jobs); n > maxSubmitMany {
		return answer, &badinput.Error{Field: "jobs", Value: strconv.Itoa(n), Want: "at most " + strconv.Itoa(maxSubmitMany)}
	}
	for i := range many.Jobs {
		sub, err := s.submitOne(r.Context(), &many.Jobs[i])
		one := api.SubmittedOne{IDs: sub.IDs}
		if err != nil {
			e, _ := refusalOf(err)
			one.Error = &e
		}
		answer.Jobs = append(answer.Jobs, one)
	}
	return answer, nil
}

// describeAPI is the document of all requests.
func (s *server) describeAPI(*http.Request) (map[string]any, error) {
	return api.Document(s.Version), nil
}
