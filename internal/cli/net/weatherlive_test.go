package net

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/cli/connect"
	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// shown is what godwit weather prints of what a broker knows.
func shown(t *testing.T, f *weatherFlags, w api.Weather, g api.Graph) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs strings.Builder
	a := &app{connect.NewConnector(&term.App{Name: "godwit", Stdout: &out, Stderr: &errs})}
	r := liveReport(&w)
	if !r.knowsWays() {
		r.addDescribed(&g)
	}
	err = a.showWeather(f, &w, r)
	return out.String(), errs.String(), err
}

var describedNetwork = api.Graph{Hosts: []string{"a", "b", "c"},
	Links: []api.GraphLink{{A: "a", B: "b", Mbps: 45, Ms: 4.2}, {A: "b", B: "c", Mbps: 100}}}

func processorOnly() api.Weather {
	return api.Weather{Sensors: 1,
		Series: []api.WeatherSeries{{What: "cpu", From: "a", Values: 3, Last: 0.9, Forecast: 0.9, By: "last value", Part: 1}}}
}

func lines(t *testing.T, text string, want ...string) {
	t.Helper()
	flat := ""
	for line := range strings.Lines(text) {
		flat += strings.Join(strings.Fields(line), " ") + "\n"
	}
	for _, w := range want {
		if !strings.Contains("\n"+flat, "\n"+w+"\n") {
			t.Errorf("no line %q in\n%s", w, text)
		}
	}
}

func TestWhatAFileDescribesIsShownAndMarked(t *testing.T) {
	for _, w := range []api.Weather{{}, processorOnly()} {
		out, say, err := shown(t, &weatherFlags{output: "table"}, w, describedNetwork)
		if err != nil || say != "" {
			t.Errorf("%q %v", say, err)
		}
		lines(t, out, "mbps a and b - 45.0 - - - described in a file, not measured",
			"ms a and b - 4.20 - - - described in a file, not measured",
			"mbps b and c - 100 - - - described in a file, not measured")
	}
	out, _, err := shown(t, &weatherFlags{output: "matrix", matrix: true}, processorOnly(), describedNetwork)
	if err != nil {
		t.Error(err)
	}
	lines(t, out, "a - (45.0) -", "b (45.0) - (100)", "c - (100) -", "a - (4.20)",
		"in brackets: described in a file, not measured", "CPU share", "a 0.9")

	out, _, err = shown(t, &weatherFlags{output: "json", what: "mbps"}, processorOnly(), describedNetwork)
	var r weatherReport
	if err == nil {
		err = json.Unmarshal([]byte(out), &r)
	}
	if err != nil || len(r.Series) != 2 || !r.Series[0].Described || r.Series[0].Forecast != 45 {
		t.Errorf("%v: %s", err, out)
	}
}

func TestWhatIsMeasuredIsNotCalledDescribed(t *testing.T) {
	w := processorOnly()
	w.Series = append(w.Series, api.WeatherSeries{What: "mbps", From: "a", To: "b", Values: 3, Last: 50, Forecast: 50,
		By: "last value", Part: 1})
	out, _, err := shown(t, &weatherFlags{output: "table"}, w, describedNetwork)
	if err != nil || strings.Contains(out, "described") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestNothingKnownIsSaid(t *testing.T) {
	_, say, err := shown(t, &weatherFlags{output: "table"}, api.Weather{}, api.Graph{})
	if err != nil || !strings.Contains(say, "network: FILE") || !strings.Contains(say, "ssh:") {
		t.Errorf("%v: %s", err, say)
	}
}

func TestAPlotWithoutValuesSaysWhatIsMissing(t *testing.T) {
	f := &weatherFlags{output: "table", plot: filepath.Join(t.TempDir(), "w.svg"), since: 6 * time.Hour, what: "mbps",
		hosts: []string{"a", "b"}}
	_, _, err := shown(t, f, processorOnly(), describedNetwork)
	if err == nil || !strings.Contains(err.Error(), "no value of mbps of a and b was measured and kept in the last 6 h") ||
		!strings.Contains(err.Error(), "--since") {
		t.Error(err)
	}
}

func TestAPlotOfManySeriesSaysWhichItLeavesOut(t *testing.T) {
	w := processorOnly()
	for i := range maxPlots + 3 {
		for k := range 3 {
			w.Readings = append(w.Readings,
				api.Reading{What: "mbps", From: "a", To: fmt.Sprint("b", i), At: int64(k) * int64(time.Minute), Value: 50})
		}
	}
	f := &weatherFlags{output: "table", plot: filepath.Join(t.TempDir(), "w.svg"), since: 6 * time.Hour}
	_, say, err := shown(t, f, w, describedNetwork)
	if want := fmt.Sprintf("w.svg: the first %d of %d series", maxPlots, maxPlots+3); err != nil ||
		!strings.Contains(say, want) {
		t.Errorf("%v: %q, want %q", err, say, want)
	}
	svg, err := os.ReadFile(f.plot)
	if err != nil || !strings.Contains(string(svg), "a to b0") ||
		strings.Contains(string(svg), fmt.Sprint("a to b", maxPlots)) {
		t.Errorf("%v: it shows other series", err)
	}
}
