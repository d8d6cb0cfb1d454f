package selfreport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MessageVersion is that of the lines that go through the socket.
const MessageVersion = 1

// Bounds of what a program may say at once.
const (
	MaxLine      = 8 << 10 // bytes of a line, its end included
	MaxText      = 1000    // bytes of a message for the user
	MaxPhaseName = 100     // bytes of the name of a phase
)

// MessageKind says what a message is about.
type MessageKind string

// What a program can say.
const (
	MessageText     MessageKind = "message"  // Text for the user of the job
	MessageProgress MessageKind = "progress" // Done of All steps
	MessagePhase    MessageKind = "phase"    // a phase begins, called Name
)

// laterKinds are part of the protocol and nobody can carry them out yet.
var laterKinds = map[MessageKind]bool{"register": true, "answer": true, "ask": true, "saved": true}

// Message is one line that a program writes.
type Message struct {
	Version int         `json:"v"`
	Kind    MessageKind `json:"kind"`
	Text    string      `json:"text,omitempty"`
	Name    string      `json:"name,omitempty"`
	Done    uint64      `json:"done,omitempty"`
	All     uint64      `json:"of,omitempty"`
}

// Reply is the line that answers it.
type Reply struct {
	Version int    `json:"v"`
	OK      bool   `json:"ok"`
	Error   string `json:"error,omitempty"` // why not, for people
}

// ParseMessage reads a line. The error is for who wrote it.
func ParseMessage(line []byte) (Message, error) {
	var version struct {
		Version *int        `json:"v"`
		Kind    MessageKind `json:"kind"`
	}
	if err := json.Unmarshal(line, &version); err != nil {
		return Message{}, fmt.Errorf("not a line of JSON: %w", err)
	}
	switch {
	case version.Version == nil:
		return Message{}, errors.New(`the version is missing: "v": 1`)
	case *version.Version != MessageVersion:
		return Message{}, fmt.Errorf("version %d is not spoken here; this is version %d", *version.Version, MessageVersion)
	case laterKinds[version.Kind]: // what else such a line says is not known here
		return Message{}, fmt.Errorf("%q cannot be carried out by this version of godwit", version.Kind)
	}
	var m Message
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return Message{}, fmt.Errorf("not a message: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Message{}, errors.New("not a message: something follows it on its line")
	}
	return m.checkFields()
}

// checkFields is the message with what belongs to its kind, and its text as it may be shown.
func (m Message) checkFields() (Message, error) {
	own := Message{Version: m.Version, Kind: m.Kind}
	var missing error
	switch m.Kind {
	case MessageText:
		if own.Text = CleanText(m.Text, MaxText); own.Text == "" {
			missing = errors.New("a message needs a text")
		}
	case MessagePhase:
		if own.Name = CleanText(m.Name, MaxPhaseName); own.Name == "" {
			missing = errors.New("a phase needs a name")
		}
	case MessageProgress:
		own.Done, own.All = m.Done, m.All
		missing = CheckSteps(m.Done, m.All)
	default:
		return Message{}, fmt.Errorf("%q is not something a program can say", CleanText(string(m.Kind), MaxPhaseName))
	}
	if missing != nil {
		return Message{}, missing
	}
	return own, nil
}

// CheckSteps says what is wrong with a report of progress.
func CheckSteps(done, all uint64) error {
	switch {
	case all == 0:
		return errors.New("progress needs the number of all steps, at least 1")
	case all > MaxSteps:
		return fmt.Errorf("%d steps are more than can be counted (%d)", all, uint64(MaxSteps))
	case done > all:
		return fmt.Errorf("%d steps done of %d", done, all)
	}
	return nil
}

// CleanText is a text in one line that does nothing to a terminal, cut to so many bytes.
func CleanText(text string, most int) string {
	text = strings.ToValidUTF8(text, "?")
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return ' '
		}
		return r
	}, text))
	if len(text) <= most {
		return text
	}
	const dots = "…"
	cut := most - len(dots)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + dots
}
