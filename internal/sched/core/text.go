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

// textOf refuses what could not be read back.
func textOf(names []string, kind string, i int) ([]byte, error) {
	if i >= len(names) || names[i] == "" {
		return nil, fmt.Errorf("no %s has number %d", kind, i)
	}
	return []byte(names[i]), nil
}

func (k Kind) MarshalText() ([]byte, error) { return textOf(kindNames[:], "job kind", int(k)) }

func (p PlacePolicy) MarshalText() ([]byte, error) {
	return textOf(placeNames[:], "placement policy", int(p))
}

func (s State) MarshalText() ([]byte, error)     { return textOf(stateNames[:], "state", int(s)) }
func (k EventKind) MarshalText() ([]byte, error) { return textOf(eventNames[:], "event", int(k)) }

func (k FlowEventKind) MarshalText() ([]byte, error) {
	return textOf(flowEventNames[:], "event of a workflow", int(k))
}

func (k InputKind) MarshalText() ([]byte, error) { return textOf(inputNames[:], "input", int(k)) }

func (k CommandKind) MarshalText() ([]byte, error) {
	return textOf(commandNames[:], "command", int(k))
}

func (c Condition) MarshalText() ([]byte, error) {
	return textOf(conditionNames[:], "condition", int(c))
}

func (h Hold) MarshalText() ([]byte, error) { return textOf(holdNames[:], "hold", int(h)) }

func (c ReasonCode) MarshalText() ([]byte, error) {
	if c >= numReasons {
		return nil, fmt.Errorf("no reason has number %d", c)
	}
	return []byte(reasons[c].name), nil
}

func (k *Kind) UnmarshalText(b []byte) error {
	i, err := parseName(kindNames[:], "job kind", string(b))
	*k = Kind(i)
	return err
}

func (c *Condition) UnmarshalText(b []byte) error {
	i, err := parseName(conditionNames[:], "condition", string(b))
	*c = Condition(i)
	return err
}

func (h *Hold) UnmarshalText(b []byte) error {
	i, err := parseName(holdNames[:], "hold", string(b))
	*h = Hold(i)
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

func (k *FlowEventKind) UnmarshalText(b []byte) error {
	i, err := parseName(flowEventNames[:], "event of a workflow", string(b))
	*k = FlowEventKind(i)
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
