package perfmodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// Format names files with models; the number changes with their meaning.
const Format = "godwit-model/3"

// limits of what a file may contain: far above what any fit writes, far below
// what would take time.
const (
	maxRuns     = 10_000
	maxBins     = 10_000
	maxTermsIn  = 10
	maxLevels   = 40
	maxPower    = 10
	maxLogPower = 2
)

type file struct {
	Format string `json:"format"`
	*Model
}

// EncodeFile is the model as the text of a file.
func (m *Model) EncodeFile() ([]byte, error) {
	text, err := json.MarshalIndent(file{Format, m}, "", " ")
	return append(text, '\n'), err
}

// DecodeFile reads what Encode wrote; what else there is, or is missing, is an error
// that names the field.
func DecodeFile(text []byte) (*Model, error) {
	f := file{Model: new(Model)}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("no model: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the model")
	}
	if f.Format != Format {
		return nil, fmt.Errorf("format %q: %q is needed", f.Format, Format)
	}
	if err := f.Model.checkModel(); err != nil {
		return nil, err
	}
	return f.Model, nil
}

// DecodeHost reads the rates of a host.
func DecodeHost(text []byte) (Host, error) {
	var h Host
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&h); err != nil {
		return h, fmt.Errorf("no rates of a host: %w", err)
	}
	return h, h.checkHost()
}

func (m *Model) checkModel() error {
	switch {
	case m.Counter != CounterPerf && m.Counter != CounterValgrind && m.Counter != CounterTime:
		return fmt.Errorf("counter %q: %s, %s or %s is right", m.Counter, CounterPerf, CounterValgrind, CounterTime)
	case len(m.Runs) > maxRuns || len(m.Misses) > maxRuns:
		return fmt.Errorf("at most %d runs and misses", maxRuns)
	}
	p := m.Pace
	if !areSound(p.Start, p.Each, p.Random, p.InOrder, p.Touch, p.Loops, m.Spread, m.SlowOff, m.Feels, m.Streams) {
		return errors.New("pace: its factors, the spread and the streams must not be negative")
	}
	if !(m.Slow > 0) || math.IsInf(m.Slow, 0) {
		return errors.New("slow: a number above 0 is right")
	}
	for i, row := range p.Variance {
		if !(row[i] >= 0) || math.IsInf(row[i], 0) {
			return errors.New("pace.variance: a variance must not be negative")
		}
	}
	if err := m.Host.checkHost(); err != nil {
		return err
	}
	if err := m.Work.checkCurve("work"); err != nil {
		return err
	}
	if err := m.Faults.checkCurve("faults"); err != nil {
		return err
	}
	if m.Memory == nil {
		return nil
	}
	if !areSound(m.Memory.Error, m.Memory.Foretold) {
		return errors.New("memory: its errors must not be negative")
	}
	for _, bins := range [][]Bin{m.Memory.InOrder, m.Memory.Random, m.Memory.Goes} {
		if len(bins) > maxBins {
			return fmt.Errorf("memory: at most %d bins", maxBins)
		}
		for _, b := range bins {
			if !areSound(b.Count, b.Far) || b.Power != never && !(b.Power >= 0 && b.Power <= maxPower) || !b.Grows.isSound() {
				return errors.New("memory: a bin's count and distance must not be negative, its powers not above 10")
			}
		}
	}
	return nil
}

func (c Curve) checkCurve(field string) error {
	if len(c.Formulas) == 0 || len(c.Formulas) > maxRuns {
		return fmt.Errorf("%s.formulas: at least one is needed", field)
	}
	if !(c.From > 0) || !(c.To >= c.From) || math.IsInf(c.To, 0) {
		return fmt.Errorf("%s: from must be above 0 and to not below it", field)
	}
	for _, f := range c.Formulas {
		if len(f.Terms) == 0 || len(f.Terms) > maxTermsIn || len(f.Terms) != len(f.Factors) {
			return fmt.Errorf("%s.formulas: each needs as many factors as terms, 1 to %d", field, maxTermsIn)
		}
		if !areSound(f.Factors...) || !areSound(f.Weight, f.Error) {
			return fmt.Errorf("%s.formulas: numbers must not be negative", field)
		}
		for _, t := range f.Terms {
			if !t.isSound() {
				return fmt.Errorf("%s.formulas: a power must be from 0 to %d", field, maxPower)
			}
		}
	}
	return nil
}

func (t Term) isSound() bool {
	return t.Power >= 0 && t.Power <= maxPower && t.Log >= 0 && t.Log <= maxLogPower
}

func (h Host) checkHost() error {
	if !(h.Operations > 0) || !(h.Speed > 0) || !areSound(h.Operations, h.Speed, h.Flops, h.Fault, h.Page, h.Spread) {
		return errors.New("host.operations_per_s and host.speed must be above 0, its other rates not negative")
	}
	if len(h.Levels) > maxLevels {
		return fmt.Errorf("host.levels: at most %d", maxLevels)
	}
	for i, l := range h.Levels {
		if !areSound(l.Bytes, l.Latency, l.InOrder, l.TwoStreams, l.FourStreams, l.Written) ||
			!(l.Beside >= 0 && l.Beside <= 1 && l.BesideWritten >= 0 && l.BesideWritten <= 1) || i+1 < len(h.Levels) &&
			l.Bytes == 0 {
			return errors.New("host.levels: each cache needs its bytes, times that are not negative and shares from 0 to 1, " +
				"the memory stands last")
		}
	}
	return nil
}

// areSound says whether all are numbers of at least 0.
func areSound(values ...float64) bool {
	for _, v := range values {
		if !(v >= 0) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}
