package cli

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func widestLine(text string) int {
	most := 0
	for line := range strings.Lines(text) {
		most = max(most, utf8.RuneCountInString(strings.TrimRight(line, "\n")))
	}
	return most
}

func TestHostsOfAPatternFitTheTerminal(t *testing.T) {
	r := &selectReport{Pattern: "ring", Nodes: 40, of: 63, Groups: []selectGroup{{Bottleneck: 87.5}}}
	for i := range 40 {
		r.Groups[0].Hosts = append(r.Groups[0].Hosts, fmt.Sprintf("region-%d", i))
	}
	var b strings.Builder
	if err := selectTable(r).PrintTable(&b, 80); err != nil {
		t.Fatal(err)
	}
	if n := widestLine(b.String()); n > 80 || !strings.Contains(b.String(), "region-39") {
		t.Errorf("%d columns:\n%s", n, b.String())
	}
}
