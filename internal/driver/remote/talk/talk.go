// Package talk is what a broker and its outpost on another machine say to each
// other, over one connection that carries many streams: the first stream is the
// hello, with the settings of the driver that is to run there; every other
// stream that the broker opens is one request and its answer; every stream that
// the outpost opens is the connection of an agent, byte by byte. The package
// must not know what is done about a request.
package talk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Protocol is the version of all this. Both ends come from the same binary, so
// they differ only where something went wrong.
const Protocol = 1

// Greeting is the line that an outpost writes first. Whatever stands before it
// was said by the shell over there.
const Greeting = "godwit-outpost-ready"

// Hello is what the broker says first.
type Hello struct {
	Protocol int             `json:"protocol"`
	Owner    string          `json:"owner,omitempty"` // which broker: two may share a folder; "": only one does
	Settings driver.Settings `json:"settings"`
	Sandbox  bool            `json:"sandbox,omitempty"` // one is brought if it is not there: see Equip
}

// MaxEquipTries is how often the sandbox is sent over one connection until it is given
// up.
const MaxEquipTries = 3

// Binary is a program that is brought.
type Binary struct {
	Sum  string `json:"sum"` // sha256, in hex
	Size int64  `json:"size"`
}

// CheckHello says what is wrong with a hello.
func (h *Hello) CheckHello() error {
	switch {
	case h.Protocol != Protocol:
		return fmt.Errorf("the broker speaks version %d, this outpost version %d", h.Protocol, Protocol)
	case !IsPlainWord(h.Settings.Cluster):
		return fmt.Errorf("%q is no name of a cluster", h.Settings.Cluster)
	case h.Owner != "" && !IsPlainWord(h.Owner):
		return fmt.Errorf("%q is no name of a broker", h.Owner)
	}
	return nil
}

// IsPlainWord reports whether s may be the name of a folder and stand on a command line
// as it is.
func IsPlainWord(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_':
		case (c == '-' || c == '.') && i > 0:
		default:
			return false
		}
	}
	return s != "" && len(s) <= 100
}

// Welcome is the answer to Hello.
type Welcome struct {
	Protocol int    `json:"protocol"`
	Error    string `json:"error,omitempty"` // it cannot be done; the connection ends
	Host     string `json:"host,omitempty"`
	PID      int    `json:"pid,omitempty"`
	Dir      string `json:"dir,omitempty"` // as it was resolved
	// JobPrefix is what the names of the driver's jobs begin with, where a manager runs them.
	JobPrefix string `json:"jobPrefix,omitempty"`
}

// What is asked for.
const (
	Start        = "start"
	Release      = "release"
	Find         = "find"
	Load         = "load"
	Survey       = "survey"
	Wait         = "wait"
	Why          = "why"
	Adjust       = "adjust" // the processors of an attempt
	Extend       = "extend" // it, by processors that the manager is asked for
	Stat         = "stat"   // what a file is
	Push         = "push"   // into the broker's depot
	Bring        = "bring"  // from there
	Offer        = "offer"  // to another site; stands until the stream is closed
	Take         = "take"   // what another site offers
	PlaceResults = "place"  // results where the user wants them
	Drop         = "drop"   // results that were placed
	// with the sandbox, of which what is missing follows, as zstd, when it is known what is there; answered once more then
	Equip = "equip"
	Sense = "sense" // the machine, or the way to another
)

// Request is one question. Whoever closes its stream before the answer came
// withdraws it.
type Request struct {
	Do      string                  `json:"do"`
	Attempt *wire.Attempt           `json:"attempt,omitempty"` // start
	ID      driver.ID               `json:"id,omitzero"`       // release, why, adjust, extend
	Held    core.ProcSet            `json:"held,omitempty"`    // adjust
	Procs   int                     `json:"procs,omitempty"`   // extend
	Need    *driver.Need            `json:"need,omitempty"`    // wait
	Path    string                  `json:"path,omitempty"`    // stat, push, offer, drop
	Tree    string                  `json:"tree,omitempty"`    // bring; offer, of what is kept
	Offer   *driver.Offer           `json:"offer,omitempty"`   // take
	Place   *driver.ResultPlacement `json:"place,omitempty"`   // place
	Binary  *Binary                 `json:"binary,omitempty"`  // equip

	Sense *driver.Sensing `json:"sense,omitempty"` // sense
}

// CheckRequest says what is missing in a request.
func (r *Request) CheckRequest() error {
	switch r.Do {
	case Start:
		if r.Attempt == nil {
			return errors.New("start without an attempt")
		}
	case Wait:
		if r.Need == nil {
			return errors.New("wait without a need")
		}
	case Stat, Push, Drop:
		if r.Path == "" {
			return errors.New("no file is named")
		}
	case Offer:
		if (r.Path == "") == (r.Tree == "") {
			return errors.New("neither a file nor a tree is named, or both")
		}
	case Take:
		if r.Offer == nil {
			return errors.New("take without an offer")
		}
	case PlaceResults:
		if p := r.Place; p == nil || p.To == "" || (p.Path == "") == (p.Tree == "") {
			return errors.New("place without what, or where")
		}
	case Equip:
		if b := r.Binary; b == nil || b.Size <= 0 || len(b.Sum) != 64 || strings.Trim(b.Sum, "0123456789abcdef") != "" {
			return errors.New("equip without a binary")
		}
	case Sense:
		if r.Sense == nil || r.Sense.Listen != nil && r.Sense.Probe != nil {
			return errors.New("sense without saying what")
		}
	case Adjust:
		if !r.ID.IsValid() || len(r.Held) == 0 {
			return errors.New("adjust without an attempt, or to no processors")
		}
	case Extend:
		if !r.ID.IsValid() || r.Procs < 1 {
			return errors.New("extend without an attempt, or to no processors")
		}
	case Release, Find, Load, Survey, Why, Bring:
	default:
		return fmt.Errorf("nobody knows how to %q", r.Do)
	}
	return nil
}

// Answer is the answer to a request: what was asked for, or an error.
type Answer struct {
	Error string `json:"error,omitempty"`
	Class string `json:"class,omitempty"` // of the error, as the port names it; see AnswerFromError

	Found  []driver.Found  `json:"found,omitempty"`
	Load   *driver.Load    `json:"load,omitempty"`
	Survey *driver.Survey  `json:"survey,omitempty"`
	Wait   *driver.Wait    `json:"wait,omitempty"`
	Why    string          `json:"why,omitempty"`
	CPUs   []int           `json:"cpus,omitempty"`
	Procs  int             `json:"procs,omitempty"` // that the attempt has
	File   *driver.File    `json:"file,omitempty"`
	Have   int64           `json:"have,omitempty"` // bytes of the sandbox that are there
	Moved  *driver.Moved   `json:"moved,omitempty"`
	Offer  *driver.Offer   `json:"offer,omitempty"`
	Placed []driver.Placed `json:"placed,omitempty"`
	Sensed *driver.Sensed  `json:"sensed,omitempty"`
}

// classes are the errors that keep their meaning on the way, by name.
var classes = [...]struct {
	name string
	err  error
}{
	{"away", driver.ErrAway}, {"refused", driver.ErrRefused}, {"unsupported", errors.ErrUnsupported},
	{"unreached", driver.ErrUnreached}, {"missing", fs.ErrNotExist}, {"denied", fs.ErrPermission},
	{"invalid", fs.ErrInvalid},
}

// AnswerFromError makes an answer of an error.
func AnswerFromError(err error) *Answer {
	a := &Answer{Error: err.Error()}
	for _, c := range classes {
		if errors.Is(err, c.err) {
			a.Class = c.name
			break
		}
	}
	return a
}

// ToError is the error that the answer tells; nil if it tells none.
func (a *Answer) ToError() error {
	if a.Error == "" {
		return nil
	}
	for _, c := range classes {
		if c.name == a.Class {
			return &farError{a.Error, c.err}
		}
	}
	return &farError{a.Error, nil}
}

// farError is an error of the other end, in its words.
type farError struct {
	text string
	kind error
}

func (e *farError) Error() string { return e.text }
func (e *farError) Unwrap() error { return e.kind }

// SendMessage writes one of the above.
func SendMessage(w io.Writer, v any) error { return wire.WriteFrame(w, v) }

// ReceiveMessage reads one of the above.
func ReceiveMessage(r io.Reader, v any) error { return wire.ReadFrame(r, v) }
