package measure

import (
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/calibrate"
)

func TestScratch(t *testing.T) {
	ctx := context.Background()
	var h, err = calibrate.Host(ctx, "/tmp/MODEL/rates/r.json")
	for range 2 {
		h, err = calibrate.Host(ctx, "/tmp/MODEL/rates/r.json")
	}
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%+v\n", h)
	sum, k := 0.0, 0
	for _, l := range strings.Split(os.Getenv("WHAT"), ";") {
		what := strings.Fields(l)
		p := Program{Argv: []string{"/work/main/examples/apps/build/" + what[0], "{n}"}}
		var sizes []float64
		for _, s := range what[1:] {
			v, _ := strconv.ParseFloat(s, 64)
			sizes = append(sizes, v)
		}
		a := time.Now()
		m, err := Fit(ctx, Options{Program: p, Name: what[0], Sizes: sizes, Counter: Auto, Host: h, Budget: time.Minute, Clock: time.Now, Tell: func(string, int, int) {}})
		if err != nil {
			t.Fatal(err)
		}
		text, _ := m.Encode()
		os.WriteFile("/tmp/MODEL/"+what[0]+".model", text, 0o600)
		fmt.Println("==", what[0], time.Since(a), m.Work.Best(), "cv", m.Work.Best().Error, "mem", m.Memory != nil && m.Memory.Error > 0)
		fmt.Printf("pace %+v\n", m.Pace)
		for _, r := range m.Runs {
			fmt.Printf("  %g cpu %.2fms noise %.2f count %g faults %g parts %v\n", r.Size, r.CPU*1e3, r.Noise, r.Count, r.Faults, m.Parts(r.Size, r.Count, r.Faults, m.Host))
		}
		for _, f := range []float64{5, 10} {
			big := f * sizes[len(sizes)-1]
			pr, err := m.Predict(big, nil)
			if err != nil {
				t.Fatal(err)
			}
			re, _ := Time(ctx, p, big, 5)
			e := pr.Seconds.Value/re.CPU - 1
			fmt.Printf("%s %g: predicted %.3f (%.3f..%.3f) wait %.3f touch %.3f measured %.3f (noise %.2f) error %.1f%% misses %v\n", what[0], big, pr.Seconds.Value, pr.Seconds.Low, pr.Seconds.High, pr.Waiting, pr.Touching, re.CPU, re.Noise, 100*e, pr.Misses)
			if f == 10 {
				sum += math.Abs(e)
				k++
			}
		}
	}
	fmt.Println("mean", sum/float64(k))
}
