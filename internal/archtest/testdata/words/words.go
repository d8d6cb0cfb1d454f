//as internal/live/broker

package broker

import other "errors"

const most = 256 // want `most is the name of something at package level: a name must survive without its comment`

const (
	maxMost = 1
	few     = 500 // want `few is`
)

var (
	errNone       = other.New("none")
	here, toThere = 1, 2 // want `here is`
)

type Word string // want `Word is`

func again() {} // want `again is`

func retryFailed() {}

type job struct{ most int }

func (j job) Again() int { most := j.most; return most }
