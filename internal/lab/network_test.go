package lab

import (
	"bufio"
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// serving runs the other end of transfers on a host until the test ends.
func serving(t *testing.T, h *Host) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := h.Command(ctx, testBinary(t), "part-serve")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(line, err)
	}
}

func testBinary(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// number is what a part of the test binary says on a host.
func number(t *testing.T, h *Host, args ...string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(strings.TrimSpace(output(t, h, append([]string{testBinary(t)}, args...)...)), 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// goodput is Mbit/s from one host to another.
func goodput(t *testing.T, from, to *Host, mb int) float64 {
	t.Helper()
	return float64(mb) * (1 << 20) * 8 / 1e6 / number(t, from, "part-send", to.Name, strconv.Itoa(mb<<20))
}

// near ends the test unless something is within 15 % of what was planned.
func near(t *testing.T, what string, planned float64, measure func() float64) {
	t.Helper()
	within(t, what, 0.85*planned, 1.15*planned, measure)
}

// within ends the test unless something is between least and most. Others use this
// machine: it is tried for a while.
func within(t *testing.T, what string, least, most float64, measure func() float64) {
	t.Helper()
	var got []float64
	for begin := time.Now(); time.Since(begin) < 2*time.Minute; {
		x := measure()
		got = append(got, x)
		if x > least && x < most {
			t.Logf("%s: %.4g, planned %.4g to %.4g", what, x, least, most)
			return
		}
	}
	t.Fatalf("%s: %.4g, planned %.4g to %.4g", what, got, least, most)
}

func TestLinksAreAsPlanned(t *testing.T) {
	l := bed(t, small)
	n1, n2, s1 := host(t, l, "north1"), host(t, l, "north2"), host(t, l, "south1")
	for _, h := range []*Host{n2, s1, l.Head} {
		serving(t, h)
	}
	ctx := context.Background()
	near(t, "Mbit/s within a site", 400, func() float64 { return goodput(t, n1, n2, 24) })
	near(t, "Mbit/s between sites", 100, func() float64 { return goodput(t, n1, s1, 12) })
	near(t, "Mbit/s to the head", 100, func() float64 { return goodput(t, n1, l.Head, 12) })
	near(t, "round trip between sites", 0.010, func() float64 { return number(t, n1, "part-reply", "south1", "30") })
	within(t, "round trip within a site", 0, 0.005, func() float64 { return number(t, n1, "part-reply", "north2", "30") })
	if err := n1.SetRate(ctx, 40); err != nil {
		t.Fatal(err)
	}
	near(t, "Mbit/s after a change", 40, func() float64 { return goodput(t, n1, n2, 5) })
	for _, mbps := range []float64{80, 25} { // set, then changed
		if err := l.SetPair(ctx, "north2", "south1", mbps); err != nil {
			t.Fatal(err)
		}
		near(t, "Mbit/s of a pair", mbps, func() float64 { return goodput(t, n2, s1, 5) })
	}
	near(t, "Mbit/s to the head beside a pair", 100, func() float64 { return goodput(t, n2, l.Head, 12) })
	if err := l.SetPair(ctx, "north2", "south1", 0); err != nil {
		t.Fatal(err)
	}
	if err := l.SetWAN(ctx, "south", Link{Mbps: 20, Delay: 35 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	near(t, "Mbit/s between sites after a change", 20, func() float64 { return goodput(t, n1, s1, 5) })
	near(t, "round trip after a change", 0.040, func() float64 { return number(t, n1, "part-reply", "south1", "30") })
	if err := l.SetWAN(ctx, "", Link{Mbps: 50}); err != nil {
		t.Fatal(err)
	}
	near(t, "Mbit/s without delay", 50, func() float64 { return goodput(t, n2, s1, 6) })
	within(t, "round trip without delay", 0, 0.005, func() float64 { return number(t, n1, "part-reply", "south1", "30") })
}
