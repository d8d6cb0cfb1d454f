package server

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// maxAge bounds the age in requests about the depot: a century.
const maxAge = 36525 * 24 * time.Hour

func parseAge(seconds float64) (time.Duration, error) {
	if math.IsNaN(seconds) || seconds < 0 || seconds > maxAge.Seconds() {
		return 0, &badinput.Error{Field: "older_s", Value: strconv.FormatFloat(seconds, 'g', -1, 64),
			Want: "a number of seconds of at least 0"}
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

func (s *server) depotUsage(r *http.Request) (api.DepotUsage, error) {
	seconds, err := strconv.ParseFloat(r.FormValue("older_s"), 64)
	if err != nil {
		seconds = 0
	}
	older, err := parseAge(seconds)
	if err != nil {
		return api.DepotUsage{}, err
	}
	return s.Broker.DepotUsage(r.Context(), older)
}

func (s *server) pruneDepot(r *http.Request) (api.DepotUsage, error) {
	p, err := readBody[api.DepotPrune](r)
	if err != nil {
		return api.DepotUsage{}, err
	}
	older, err := parseAge(p.OlderS)
	if err != nil {
		return api.DepotUsage{}, err
	}
	if p.DryRun {
		return s.Broker.DepotUsage(r.Context(), older)
	}
	return s.Broker.PruneDepot(r.Context(), older)
}
