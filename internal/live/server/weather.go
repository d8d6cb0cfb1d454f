package server

import (
	"net/http"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// secondsOf is a time in a request; 0 if there is none.
func secondsOf(r *http.Request, name string) (time.Duration, error) {
	text := r.FormValue(name)
	if text == "" {
		return 0, nil
	}
	x, ok := yamlfile.ParseNumber(text)
	if !ok || x < 0 || x > 1e9 {
		return 0, &badinput.Error{Field: name, Value: text, Want: "seconds"}
	}
	return core.DurationFromSeconds(x), nil
}

func (s *server) showWeather(r *http.Request) (api.Weather, error) {
	over, err := secondsOf(r, "over")
	if err != nil {
		return api.Weather{}, err
	}
	since, err := secondsOf(r, "since")
	if err != nil {
		return api.Weather{}, err
	}
	v := s.Broker.WeatherForecast(over)
	w := api.Weather{Sensors: v.Watching, Series: []api.WeatherSeries{}}
	for i := range v.Series {
		x := &v.Series[i]
		w.Series = append(w.Series, api.WeatherSeries{What: string(x.What), From: x.From, To: x.To, Values: x.Values,
			At:   *api.TimeAt(max(1, x.At)),
			AgeS: v.Now.Sub(x.At).Seconds(), Last: x.Last, StepS: x.Step.Seconds(), Steps: x.Next.Steps, Forecast: x.Next.Value,
			Error:     x.Next.Error,
			Quantiles: x.Next.Dist.Quantiles(), By: x.Next.By, Part: x.Next.Part})
	}
	if since > 0 {
		rows, err := s.Broker.WeatherReadings(r.Context(), v.Now.Add(-since))
		if err != nil {
			return w, err
		}
		for _, x := range rows {
			w.Readings = append(w.Readings, api.Reading{What: x.What, From: x.From, To: x.To, At: int64(x.At), Value: x.Value})
		}
	}
	return w, nil
}

func (s *server) showGraph(r *http.Request) (api.Graph, error) {
	over, err := secondsOf(r, "over")
	if err != nil {
		return api.Graph{}, err
	}
	n, err := s.Broker.NetworkGraph(r.FormValue("on"), over)
	if err != nil {
		return api.Graph{}, err
	}
	g := api.Graph{Hosts: n.Hosts, Routers: []string{}, Links: []api.GraphLink{}}
	for _, l := range n.Links {
		g.Links = append(g.Links, api.GraphLink{A: n.Hosts[l.A], B: n.Hosts[l.B], Mbps: l.Mbps, Ms: l.Ms})
	}
	for i, x := range n.CPU {
		if g.CPU == nil {
			g.CPU = map[string]float64{}
		}
		g.CPU[n.Hosts[i]] = x
	}
	return g, nil
}

func (s *server) listHosts(r *http.Request) ([]api.Host, error) {
	views, err := s.Broker.ListHosts(r.Context(), r.FormValue("on"))
	list := make([]api.Host, 0, len(views))
	for _, v := range views {
		h := api.Host{Name: v.Name, Cluster: v.Cluster, State: "down", Why: v.Why, Measured: api.TimeAt(v.At)}
		if v.Up {
			h.State = "up"
		}
		if v.Drain != nil {
			d := drainFrom(v.Drain)
			h.Drain, h.Why = &d, v.Drain.Sentence(v.Cluster)
			if d.Host = ""; v.Up {
				h.State = "drained"
			}
		}
		if v.Procs >= 0 {
			h.Cores, h.Free = &v.Procs, &v.Free
		}
		if v.Speed > 0 {
			h.Speed = &v.Speed
		}
		if v.Share >= 0 {
			h.Share, h.ShareError = &v.Share, &v.ShareError
		}
		if v.Memory >= 0 {
			h.Memory = &v.Memory
		}
		list = append(list, h)
	}
	return list, err
}
