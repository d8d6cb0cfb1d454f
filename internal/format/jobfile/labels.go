package jobfile

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// Bounds of labels: they are in every list of jobs.
const (
	maxLabels     = 64
	maxLabelName  = 63
	maxLabelValue = 255
)

const wantLabel = "a label such as sweep=3: a name of letters, digits, _ . / and -, and a value"

// ParseLabel reads a label, name=value. Its value may be empty only where that takes a label away.
func ParseLabel(text string) (name, value string, err error) {
	name, value, given := strings.Cut(text, "=")
	if !given || !isLabelName(name) || !isLabelValue(value) {
		return "", "", errors.New(wantLabel)
	}
	return name, value, nil
}

func isLabelName(name string) bool {
	const others = "_./-"
	if name == "" || len(name) > maxLabelName || strings.IndexByte(others, name[0]) >= 0 {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(others, c) >= 0) {
			return false
		}
	}
	return true
}

func isLabelValue(value string) bool {
	return len(value) <= maxLabelValue && utf8.ValidString(value) &&
		!strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f || r == ',' })
}

// CheckLabels complains about labels that a job cannot have.
func CheckLabels(labels map[string]string) error {
	if len(labels) > maxLabels {
		return &badinput.Error{Field: "labels", Want: "at most 64 labels"}
	}
	for name, value := range labels { // order-free: any complaint will do
		if !isLabelName(name) || !isLabelValue(value) || value == "" {
			return &badinput.Error{Field: "labels", Value: name + "=" + value, Want: wantLabel}
		}
	}
	return nil
}

func applyLabel(d *Draft, text string) error {
	name, value, err := ParseLabel(text)
	if err != nil || value == "" {
		return errors.New(wantLabel)
	}
	d.setLabel(name, value)
	return nil
}

func (d *Draft) setLabel(name, value string) {
	if d.Labels == nil {
		d.Labels = map[string]string{}
	}
	d.Labels[name] = value
}

// readLabels reads labels and their values.
func (d *Draft) readLabels(v yamlfile.Value) {
	for key, value := range v.EachEntry("labels and their values") {
		name := key.Text(wantLabel)
		if label := name + "=" + value.Text(wantLabel); applyLabel(d, label) != nil {
			ReadScalar(value, func(string) (string, error) { return "", errors.New(wantLabel) })
		}
	}
}
