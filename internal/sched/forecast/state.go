package forecast

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// state is a forecaster in JSON, without what follows from the rest.
type state struct {
	Members  []string        `json:"members"` // in which order errors stand below
	Step     time.Duration   `json:"step,omitempty"`
	Most     float64         `json:"most,omitempty"`
	Prior    []float64       `json:"prior,omitempty"`
	Last     core.Time       `json:"last"`
	Gaps     []time.Duration `json:"gaps,omitempty"`
	NGap     int             `json:"gap_count,omitempty"`
	Count    int             `json:"count"`
	Values   []float64       `json:"values"`
	Mean     float64         `json:"mean"`
	Sums     []float64       `json:"sums"`
	Smooth   []float64       `json:"smooth"`
	Errors   []float64       `json:"errors"`
	Regress  []float64       `json:"regression"`
	Level    []float64       `json:"level"`
	Trend    []float64       `json:"trend"`
	Horizons []horizonState  `json:"horizons"`
}

type horizonState struct {
	N       float64   `json:"n"`
	Abs     []float64 `json:"abs"`
	Squared []float64 `json:"squared,omitempty"` // asked for at the first horizon only
	Scale   float64   `json:"scale"`
	Count   float64   `json:"count"`
	Past    []float64 `json:"past"`
	Said    []float64 `json:"said,omitempty"` // by a forecast that waits
	Value   float64   `json:"value"`
	Sum     float64   `json:"sum"`
	Came    int       `json:"came"`
}

// MarshalJSON writes all that the forecaster knows.
func (f *Forecaster) MarshalJSON() ([]byte, error) {
	y := &f.family
	s := state{
		Members: names[:], Step: f.config.Step, Most: f.config.Most,
		Last: f.last, Gaps: f.gaps[:min(f.nGap, nGaps)], NGap: f.nGap,
		Count: y.recent.count, Values: y.recent.listValues(), Mean: y.mean, Smooth: y.smooth[:], Errors: y.errors[:],
		Regress: []float64{y.regress.last, y.regress.weight, y.regress.x, y.regress.y, y.regress.xx, y.regress.xy},
		Level: []float64{y.level.mean, y.level.n, y.level.spread,
			y.level.up.height, y.level.up.sum, y.level.up.n, y.level.down.height, y.level.down.sum, y.level.down.n},
		Trend: []float64{y.trend.level, y.trend.slope},
	}
	if f.config.Prior.known {
		s.Prior = f.config.Prior.excess[:]
	}
	for i := range y.means {
		s.Sums = append(s.Sums, y.means[i].sum)
	}
	for i := range f.horizons {
		s.Horizons = append(s.Horizons, f.horizons[i].toState(i == 0))
	}
	return json.Marshal(s)
}

func (h *horizon) toState(squared bool) horizonState {
	s := horizonState{N: h.record.n, Abs: h.record.abs[:], Scale: h.spread.scale, Count: h.spread.n,
		Past: h.spread.past.listValues(), Value: h.value, Sum: h.sum, Came: h.came}
	if squared {
		s.Squared = h.record.squared[:]
	}
	if h.waiting {
		s.Said = h.said[:]
	}
	return s
}

// ErrState is returned for what no forecaster wrote, or one with another
// family did: the series is to be played again.
var ErrState = errors.New("not the state of a forecaster of this family")

// UnmarshalJSON makes the forecaster the one that was written.
func (f *Forecaster) UnmarshalJSON(data []byte) error {
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	if err := s.checkState(); err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	n := New(Config{Step: s.Step, Most: s.Most})
	if s.Prior != nil {
		n.config.Prior.known = true
		copy(n.config.Prior.excess[:], s.Prior)
	}
	n.last, n.nGap = s.Last, s.NGap
	copy(n.gaps[:], s.Gaps)
	for i := range n.horizons {
		s.Horizons[i].restoreHorizon(&n.horizons[i], &n.config.Prior)
	}
	n.family.restoreState(&s)
	*f = *n
	return nil
}

func (f *family) restoreState(s *state) {
	f.recent.restoreValues(s.Values, s.Count)
	f.renewWindows()
	f.mean = s.Mean
	copy(f.smooth[:], s.Smooth)
	copy(f.errors[:], s.Errors)
	for i := range f.means {
		f.means[i].sum = s.Sums[i]
	}
	if s.Count == 0 {
		return
	}
	r, l := s.Regress, s.Level
	f.regress = regression{last: r[0], weight: r[1], x: r[2], y: r[3], xx: r[4], xy: r[5], any: true}
	f.level = level{mean: l[0], n: l[1], spread: l[2], up: climb{l[3], l[4], l[5]}, down: climb{l[6], l[7], l[8]}}
	f.trend = trend{level: s.Trend[0], slope: s.Trend[1], any: true}
	f.askMembers()
}

func (r *recent) restoreValues(list []float64, count int) {
	r.count = count - len(list)
	for _, x := range list {
		r.addValue(x)
	}
}

func (s *horizonState) restoreHorizon(h *horizon, p *Prior) {
	h.record.n = s.N
	copy(h.record.abs[:], s.Abs)
	copy(h.record.squared[:], s.Squared)
	h.spread.scale, h.spread.n = s.Scale, s.Count
	h.spread.past.restoreValues(s.Past, len(s.Past))
	h.spread.order.sortAnew(&h.spread.past)
	h.waiting = s.Said != nil
	copy(h.said[:], s.Said)
	h.value, h.sum, h.came = s.Value, s.Sum, s.Came
	h.mix = h.record.mixMembers(p)
}

// checkState makes sure that nothing in a state can do harm later.
func (s *state) checkState() error {
	if !slices.Equal(s.Members, names[:]) {
		return errors.New("members differ")
	}
	if s.Step < 0 || s.Count < 0 || s.Count > maxValues || s.NGap < 0 || s.NGap > maxValues ||
		len(s.Gaps) != min(s.NGap, nGaps) || slices.ContainsFunc(s.Gaps, isNegative[time.Duration]) {
		return errors.New("counts and times do not fit")
	}
	lists := []list{
		{s.Values, min(s.Count, longest), large, true}, {s.Sums, nMeans, large, false}, {s.Smooth, nGains, large, true},
		{s.Errors, nMembers, large, true},
		{s.Trend, 2, large, false}, {[]float64{s.Most, s.Mean}, 2, large, true},
		{s.Regress, 6, large * large, false}, {s.Level, 9, large, false},
	}
	if len(s.Regress) == 6 && len(s.Level) == 9 { // weights and what is divided by
		l := s.Level
		lists = append(lists, list{s.Regress[:4], 4, large, false},
			list{[]float64{s.Regress[1], s.Regress[4], l[1], l[2], l[3], l[5], l[6], l[8]}, 8, large * large, true})
	}
	if s.Prior != nil {
		lists = append(lists, list{s.Prior, nMembers, large, true})
	}
	if len(s.Horizons) != nHorizons {
		return errors.New("horizons differ")
	}
	for i := range s.Horizons {
		h := &s.Horizons[i]
		if h.Came < 0 || h.Came >= horizons[i] || len(h.Past) < len(seeds) || (h.Said == nil) != (s.Count == 0) {
			return errors.New("a horizon does not fit")
		}
		lists = append(lists, list{h.Abs, nMembers, large, true}, list{h.Past, min(len(h.Past), errorsKept), farthest, false},
			list{[]float64{h.N, h.Scale, h.Count, h.Value, h.Sum}, 5, large, true})
		if i == 0 {
			lists = append(lists, list{h.Squared, nMembers, large * large, true})
		}
		if h.Said != nil {
			lists = append(lists, list{h.Said, nMembers, large, true})
		}
	}
	for _, l := range lists {
		if !l.isSound() {
			return errors.New("numbers do not fit")
		}
	}
	return nil
}

// maxValues is how many values a series may have had.
const maxValues = 1 << 50

// large is what values of up to Largest can lead to.
const large = 1e6 * Largest

// list is numbers of a state and what they have to be.
type list struct {
	numbers  []float64
	n        int
	limit    float64
	positive bool // or 0
}

func (l list) isSound() bool {
	return len(l.numbers) == l.n && !slices.ContainsFunc(l.numbers, func(x float64) bool {
		return math.Abs(x) > l.limit || l.positive && x < 0
	})
}

func isNegative[T ~int64](x T) bool { return x < 0 }
