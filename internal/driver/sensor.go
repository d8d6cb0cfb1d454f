package driver

import (
	"context"
	"time"

	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
)

// Sensor measures the machine that it is on, and the ways from there to others:
// one lets another in, and that one probes the way to it and back.
type Sensor interface {
	MeasureHosts(ctx context.Context, q Sensing) (Sensed, error)
}

// Sensing is what is to be measured: with neither of these, the machine.
type Sensing struct {
	Listen *Listening `json:"listen,omitempty"` // let another in
	Probe  *Probe     `json:"probe,omitempty"`  // the way to one that listens
}

// Listening says where a sensor is to listen: for one other, and not for long.
type Listening struct {
	// Name is that by which others reach this machine: it listens there alone, if
	// the name means one of its addresses. "": on all of them.
	Name string `json:"name,omitempty"`
}

// Probe says whom to measure the way to.
type Probe struct {
	To    rendezvous.Rendezvous `json:"to"`
	Bytes int64                 `json:"bytes"` // that may be sent at most, each way
}

// Sensed is what was measured, by what was asked for.
type Sensed struct {
	Machine *Machine               `json:"machine,omitempty"`
	Listens *rendezvous.Rendezvous `json:"listens,omitempty"`
	Way     *LinkMeasurement       `json:"way,omitempty"`
}

// Machine is what one has to offer at the moment.
type Machine struct {
	Load   Load  `json:"load"`
	Memory int64 `json:"memory"` // bytes that are free; 0: not known
}

// LinkMeasurement is what lies between two machines.
type LinkMeasurement struct {
	Latency time.Duration `json:"latency"` // half of the best round trip
	There   Flow          `json:"there"`
	Back    Flow          `json:"back"`
}

// Flow is what got through one way.
type Flow struct {
	Mbps  float64       `json:"mbps"`
	Bytes int64         `json:"bytes"` // that were sent for it
	Took  time.Duration `json:"took"`
}
