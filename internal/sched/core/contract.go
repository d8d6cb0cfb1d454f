package core

import (
	"fmt"
	"math"
)

// Contract is the speed to which a job is held: the limits of the ratio of actual to promised time, and the rule by
// which ratios are judged (package contract). Zero values stand for the defaults.
type Contract struct {
	Rule        string  `json:"rule,omitempty"`
	Lower       float64 `json:"lower,omitempty"`
	Upper       float64 `json:"upper,omitempty"`
	Consecutive int     `json:"consecutive,omitempty"` // ratios in a row, of the rule that counts these
}

// MoveCost is what a move costs, in seconds, by its parts as the paper has them.
type MoveCost struct {
	Write        float64 `json:"write_s"`        // the checkpoint
	Weather      float64 `json:"weather_s"`      // waiting for and collecting fresh measurements
	Schedule     float64 `json:"schedule_s"`     // choosing hosts
	Start        float64 `json:"start_s"`        // the program there
	Other        float64 `json:"other_s"`        // the rest
	Redistribute float64 `json:"redistribute_s"` // reading the data, to where they belong on the new hosts
}

// TotalSeconds is all of it.
func (c MoveCost) TotalSeconds() float64 {
	return c.Write + c.Weather + c.Schedule + c.Start + c.Other + c.Redistribute
}

// Assessment is what is predicted of a job with a contract, where it is and elsewhere. All times are in seconds.
type Assessment struct {
	Promise float64 `json:"promise_s"` // the whole program, where it is placed or runs
	Done    float64 `json:"done"`      // part of it that is done
	Left    float64 `json:"left_s"`    // the rest where it runs: ret_current
	// Spread is how far phases were from what was predicted for them, as a standard deviation of the logarithm, and
	// Phases how many say so.
	Spread  float64      `json:"spread,omitempty"`
	Phases  int          `json:"phases,omitempty"`
	Options []MoveOption `json:"options,omitempty"`
}

// MoveOption is another place, with so many processors of it.
type MoveOption struct {
	Cluster ClusterID `json:"cluster"`
	Size    int       `json:"size"`
	Procs   ProcSet   `json:"procs,omitempty"` // those that the prediction is about; none: any
	Left    float64   `json:"left_s"`          // the rest there: ret_new
	Cost    MoveCost  `json:"cost"`
}

// Gain is the decision whether a job is moved because that pays, with what led to it.
type Gain struct {
	Current   float64  `json:"ret_current_s"` // seconds that are left where it runs
	New       float64  `json:"ret_new_s"`     // at the best other place; 0 if there is none
	Cost      MoveCost `json:"cost"`
	Gain      float64  `json:"gain"`      // (current − (new + cost)) / current
	Threshold float64  `json:"threshold"` // of the gain above which it is moved
	Moves     bool     `json:"moves"`
	Forced    string   `json:"forced,omitempty"` // the mode that made the decision, not the gain
	Size      int      `json:"size,omitempty"`   // at the best other place
	Where     string   `json:"where,omitempty"`  // its name
}

// checkLimits reports what makes a contract impossible to keep or to break.
func (c *Contract) checkLimits() error {
	if c != nil && !(c.Lower >= 0 && c.Upper >= 0 && c.Consecutive >= 0) {
		return fmt.Errorf("no contract has the limits %g and %g, %d in a row", c.Lower, c.Upper, c.Consecutive)
	}
	return nil
}

// Accuracy is how well predictions held: a sum of squares of logarithms of actual over predicted times, and its weight.
type Accuracy struct {
	Squares float64
	Weight  float64
}

// AddRatio takes in that something took so many times as long as predicted.
func (a *Accuracy) AddRatio(ratio float64) {
	if d := math.Log(ratio); !math.IsNaN(d) && !math.IsInf(d, 0) {
		a.Squares += d * d
		a.Weight++
	}
}
