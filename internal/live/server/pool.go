package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/live/workpool"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/poolwork"
)

// pools is who keeps pools of work items.
func (s *server) pools() (*workpool.Service, error) {
	if s.Pools == nil {
		return nil, &badinput.Error{Problem: "this broker takes no pools"}
	}
	return s.Pools, nil
}

func (s *server) submitPool(r *http.Request) (api.PoolSubmitted, error) {
	spec, err := readBody[api.PoolSubmit](r)
	if err != nil {
		return api.PoolSubmitted{}, err
	}
	pools, err := s.pools()
	if err != nil {
		return api.PoolSubmitted{}, err
	}
	return pools.SubmitPool(r.Context(), &spec)
}

func (s *server) listPools(r *http.Request) ([]api.Pool, error) {
	pools, err := s.pools()
	if err != nil {
		return nil, err
	}
	return pools.ListPools(r.Context(), r.FormValue("all") != "")
}

// takeReport answers a worker of a pool.
func (s *server) takeReport(r *http.Request) (*poolwork.Answer, error) {
	report, err := readBody[poolwork.Report](r)
	if err != nil {
		return nil, err
	}
	pools, err := s.pools()
	if err != nil {
		return nil, err
	}
	return pools.TakeReport(r.Context(), &report)
}

// aboutPool makes an answer of a question about the pool that a request names.
func aboutPool[T any](s *server,
	ask func(pools *workpool.Service, ctx context.Context, ref string) (T, error)) http.HandlerFunc {
	return answerJSON(func(r *http.Request) (T, error) {
		pools, err := s.pools()
		if err != nil {
			var none T
			return none, err
		}
		return ask(pools, r.Context(), r.PathValue("id"))
	})
}

// watchPool streams the states of a pool.
func (s *server) watchPool(w http.ResponseWriter, r *http.Request) {
	pools, err := s.pools()
	if err != nil {
		refuseRequest(w, err)
		return
	}
	flush, out, begun := http.NewResponseController(w), json.NewEncoder(w), false
	err = pools.WatchPool(r.Context(), r.PathValue("id"), func(p *api.Pool) error {
		begun = true
		if err := out.Encode(api.PoolLive{Pool: *p, Final: p.IsOver()}); err != nil {
			return err
		}
		return flush.Flush()
	})
	finishStream(w, err, begun)
}

// copyOutcomes streams what became of the items of a pool.
func (s *server) copyOutcomes(w http.ResponseWriter, r *http.Request) {
	pools, err := s.pools()
	offset, bad := strconv.ParseInt(r.FormValue("offset"), 10, 64)
	if err == nil && (bad != nil || offset < 0) {
		err = &badinput.Error{Field: "offset", Value: r.FormValue("offset"), Want: "a number from 0"}
	}
	if err != nil {
		refuseRequest(w, err)
		return
	}
	flush, begun := http.NewResponseController(w), false
	err = pools.CopyOutcomes(r.Context(), r.PathValue("id"), offset, func(data []byte) error {
		begun = true
		if _, err := w.Write(data); err != nil {
			return err
		}
		return flush.Flush()
	})
	finishStream(w, err, begun)
}
