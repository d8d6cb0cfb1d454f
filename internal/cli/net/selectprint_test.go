package net

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestHostsOfAPatternFitTheTerminal(t *testing.T) {
	r := &selectReport{Pattern: "ring", Nodes: 40, of: 63, Groups: []selectGroup{{Bottleneck: 87.5}}}
	for i := range 40 {
		r.Groups[0].Hosts = append(r.Groups[0].Hosts, fmt.Sprintf("region-%d", i))
	}
	var b strings.Builder
	if err := selectTable(r).PrintTable(&b, 80); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(b.String(), "region-39") {
		t.Errorf("the last host is missing:\n%s", b.String())
	}
}
