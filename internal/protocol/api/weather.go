package api

import (
	"context"
	"net/url"
	"strconv"
	"time"
)

// Weather is what was measured of the network and its hosts, and what it will be.
type Weather struct {
	// hosts that are looked at, or between which is measured; 0: nothing is measured
	Sensors  int             `json:"sensors"`
	Series   []WeatherSeries `json:"series"`
	Readings []Reading       `json:"readings,omitempty"` // if asked for
}

// WeatherSeries is one quantity from one host to another, or of one.
type WeatherSeries struct {
	What      string    `json:"what"` // mbps, ms, cpu, mb
	From      string    `json:"from"`
	To        string    `json:"to,omitempty"`
	Values    int       `json:"values"`
	At        Time      `json:"at"` // of the last value
	AgeS      float64   `json:"age_s"`
	Last      float64   `json:"last"`
	StepS     float64   `json:"step_s"` // usual time between values
	Steps     int       `json:"steps"`  // the forecast is the mean of so many values
	Forecast  float64   `json:"forecast"`
	Error     float64   `json:"error"` // mean absolute, to be expected
	Quantiles []float64 `json:"quantiles"`
	By        string    `json:"by"` // the forecaster that counts most
	Part      float64   `json:"part"`
}

// Reading is one value of a series.
type Reading struct {
	What  string  `json:"what"`
	From  string  `json:"from"`
	To    string  `json:"to,omitempty"`
	At    int64   `json:"at"` // nanoseconds since 1970
	Value float64 `json:"value"`
}

// Graph is the network between hosts, as files of networks are written.
type Graph struct {
	Hosts   []string           `json:"hosts"`
	Routers []string           `json:"routers"`
	Links   []GraphLink        `json:"links"`
	CPU     map[string]float64 `json:"cpu,omitempty"` // share of a processor that is free
}

// GraphLink is what two hosts have between them.
type GraphLink struct {
	A    string  `json:"a"`
	B    string  `json:"b"`
	Mbps float64 `json:"mbps"`
	Ms   float64 `json:"ms"`
}

// Host is one host of a cluster. What is not known is null.
type Host struct {
	Name       string   `json:"name"`
	Cluster    string   `json:"cluster"`
	State      string   `json:"state"` // up, down, drained
	Why        string   `json:"why,omitempty"`
	Cores      *int     `json:"cores"`
	Free       *int     `json:"free"` // cores that no job of ours, or of the manager's, has
	Speed      *float64 `json:"speed"`
	Share      *float64 `json:"share"` // of a processor that a newcomer will have
	ShareError *float64 `json:"share_error"`
	Memory     *int64   `json:"memory"` // free, in bytes
	Measured   *Time    `json:"measured"`
	Drain      *Drain   `json:"drain,omitempty"` // nothing new is placed there
}

// GetWeather asks what was measured, with forecasts of the mean over some time;
// with since > 0 also for the values of so long.
func (c *Client) GetWeather(ctx context.Context, over, since time.Duration) (Weather, error) {
	return getJSON[Weather](ctx, c, "/v1/weather?over="+formatSeconds(over)+"&since="+formatSeconds(since))
}

// WeatherGraph asks for the network between all hosts, or those of one cluster.
func (c *Client) WeatherGraph(ctx context.Context, on string, over time.Duration) (Graph, error) {
	return getJSON[Graph](ctx, c, "/v1/weather/graph?over="+formatSeconds(over)+"&on="+url.QueryEscape(on))
}

// ListHosts lists the hosts of all clusters, or of one.
func (c *Client) ListHosts(ctx context.Context, on string) ([]Host, error) {
	return getJSON[[]Host](ctx, c, "/v1/hosts?on="+url.QueryEscape(on))
}

func formatSeconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'g', -1, 64) }
