package core

import "fmt"

// The small enumerations are written to logs by name, so that a log can be
// read by people and outlives a renumbering.

func parseName(names []string, kind, text string) (int, error) {
	for i, n := range names {
		if n == text && n != "" {
			return i, nil
		}
	}
	return 0, fmt.Errorf("unknown %s %q", kind, text)
}

func (k Kind) MarshalText() ([]byte, error)        { return []byte(k.String()), nil }
func (p PlacePolicy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }
func (s State) MarshalText() ([]byte, error)       { return []byte(s.String()), nil }
func (k EventKind) MarshalText() ([]byte, error)   { return []byte(k.String()), nil }
func (k InputKind) MarshalText() ([]byte, error)   { return []byte(k.String()), nil }
func (k CommandKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }
func (c ReasonCode) MarshalText() ([]byte, error)  { return []byte(c.String()), nil }

func (k *Kind) UnmarshalText(b []byte) error {
	i, err := parseName(kindNames[:], "job kind", string(b))
	*k = Kind(i)
	return err
}

func (p *PlacePolicy) UnmarshalText(b []byte) error {
	i, err := parseName(placeNames[:], "placement policy", string(b))
	*p = PlacePolicy(i)
	return err
}

func (s *State) UnmarshalText(b []byte) error {
	i, err := parseName(stateNames[:], "state", string(b))
	*s = State(i)
	return err
}

func (k *EventKind) UnmarshalText(b []byte) error {
	i, err := parseName(eventNames[:], "event", string(b))
	*k = EventKind(i)
	return err
}

func (k *InputKind) UnmarshalText(b []byte) error {
	i, err := parseName(inputNames[:], "input", string(b))
	*k = InputKind(i)
	return err
}

func (k *CommandKind) UnmarshalText(b []byte) error {
	i, err := parseName(commandNames[:], "command", string(b))
	*k = CommandKind(i)
	return err
}

func (c *ReasonCode) UnmarshalText(b []byte) error {
	for i := range reasons {
		if reasons[i].name == string(b) {
			*c = ReasonCode(i)
			return nil
		}
	}
	return fmt.Errorf("unknown reason %q", b)
}
