package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/lab"
	"github.com/godwit-hpc/godwit/internal/observe/weather"
	"github.com/godwit-hpc/godwit/internal/observe/weather/measured"
	"github.com/godwit-hpc/godwit/internal/observe/weather/sensor"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/probeplan"
)

func TestMain(m *testing.M) {
	if code, ours := lab.RunRole(os.Args[1:]); ours {
		os.Exit(code)
	}
	if len(os.Args) == 2 && os.Args[1] == "part-sensor" {
		sensorPart()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// answer is what a sensor on a host of the lab says.
type answer struct {
	driver.Sensed
	Error string
}

// sensorPart is a sensor that is asked over its standard input.
func sensorPart() {
	s := sensor.New(func(context.Context) (driver.Load, error) { return driver.Load{Share: 1}, nil }, clock.RealClock())
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var q driver.Sensing
		if in.Decode(&q) != nil {
			break
		}
		a := answer{}
		var err error
		if a.Sensed, err = s.MeasureHosts(context.Background(), q); err != nil {
			a.Error = err.Error()
		}
		if out.Encode(a) != nil {
			break
		}
	}
	_ = s.Close()
}

// onHost is a sensor on a host of a lab.
type onHost struct {
	mu  sync.Mutex
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

func startSensor(t testing.TB, h *lab.Host) *onHost {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &onHost{cmd: h.Command(context.Background(), self, "part-sensor")}
	s.cmd.Stderr = os.Stderr
	s.in, err = s.cmd.StdinPipe()
	out, err2 := s.cmd.StdoutPipe()
	if err := errors.Join(err, err2, s.cmd.Start()); err != nil {
		t.Fatal(err)
	}
	s.out = json.NewDecoder(out)
	t.Cleanup(func() { _ = s.in.Close(); _ = s.cmd.Wait() })
	return s
}

func (s *onHost) MeasureHosts(_ context.Context, q driver.Sensing) (driver.Sensed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := json.NewEncoder(s.in).Encode(q); err != nil {
		return driver.Sensed{}, err
	}
	var a answer
	if err := s.out.Decode(&a); err != nil {
		return driver.Sensed{}, err
	}
	if a.Error != "" {
		return driver.Sensed{}, errors.New(a.Error)
	}
	return a.Sensed, nil
}

// bed is a lab that is gone after the test.
func bed(t testing.TB, plan string) *lab.Lab {
	t.Helper()
	dir, err := os.MkdirTemp("", "gw-weather-")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GODWIT_LABS", dir)
	p, err := lab.ReadPlan("plan.yaml", []byte(plan))
	if err != nil {
		t.Fatal(err)
	}
	p.Name = fmt.Sprintf("weather-%d", os.Getpid())
	t.Cleanup(func() {
		if err := errors.Join(lab.RemoveLab(context.Background(), p.Name), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	l, err := lab.CreateLab(context.Background(), p, lab.Options{NoManager: true})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// carried is what the links of the lab have carried so far, by name, in bytes:
// those of hosts, and those of sites to the others, the busier direction.
func carried(t testing.TB, l *lab.Lab) map[string]float64 {
	t.Helper()
	out, err := exec.Command("nsenter", "--net=/proc/"+strconv.Itoa(l.Switch.PID)+"/ns/net", "cat",
		"/proc/net/dev").Output()
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]float64{}
	for line := range strings.Lines(string(out)) {
		name, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		f := strings.Fields(rest)
		if !ok || len(f) < 9 {
			continue
		}
		in, err1 := strconv.ParseFloat(f[0], 64)
		sent, err2 := strconv.ParseFloat(f[8], 64)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		list[name] = max(in, sent)
	}
	return list
}

// grid is the lab of the test below.
const grid = `
network: {wan: {mbps: 40, ms: 10}}
clusters:
  - {name: north, hosts: 3, mbps: 100}
  - {name: south, hosts: 2, mbps: 200}
`

// Sensors on hosts of a lab measure what its links were told to be, follow when
// one changes, and use less than a hundredth of each.
func TestSensorsMeasureWhatTheLinksAreAndDoNotDisturb(t *testing.T) {
	l := bed(t, grid)
	book := weather.NewBook()
	began := time.Now()
	now := func() core.Time { return core.Time(time.Now().UnixNano()) }
	var hosts []Host
	for _, h := range l.AllHosts() {
		if h.Name != lab.HeadName {
			hosts = append(hosts, Host{Name: h.Name, Site: h.Site, Reach: h.Name, Sensor: startSensor(t, h), Machine: true})
			book.PlaceHost(h.Name, h.Site)
		}
	}
	w := New(Options{Hosts: hosts, Book: book, Now: now, Plan: probeplan.Config{Every: time.Second}})
	before := carried(t, l)
	ctx, cancel := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() { w.Run(ctx) })
	defer run.Wait()
	defer cancel()
	said := func(what measured.Quantity, from, to string) (float64, bool) {
		s, ok := book.FindSeries(weather.Key{What: what, From: from, To: to}, now(), 0)
		return s.Next.Value, ok
	}
	is := func(what measured.Quantity, from, to string, least, most float64) func() bool {
		return func() bool {
			x, ok := said(what, from, to)
			return ok && x >= least && x <= most
		}
	}
	until := func(what string, holds func() bool) {
		t.Helper()
		clocktest.PollLoop{Limit: 20 * time.Minute}.WaitFor(t, "that "+what, holds,
			func() string { return fmt.Sprintf("%+v", book.AllSeries(now(), 0)) })
		t.Logf("after %.1f s %s", time.Since(began).Seconds(), what)
	}
	rate := func(mbps float64) (least, most float64) { return 0.85 * 0.95 * mbps, 1.15 * 0.95 * mbps }
	least, most := rate(200)
	until("south is known", is(measured.Mbps, "south1", "south2", least, most))
	least, most = rate(40)
	until("the way between the sites is known", is(measured.Mbps, "north1", "south1", least, most))
	until("and back", is(measured.Mbps, "south1", "north1", least, most))
	until("its latency is known", is(measured.Ms, "south1", "north1", 8, 12))
	until("that within a site too", is(measured.Ms, "south1", "south2", 0, 5))
	until("machines are known", is(measured.CPU, "north1", "", 1, 1))
	h, err := l.FindHost("south2")
	if err == nil {
		err = h.SetRate(t.Context(), 100)
	}
	if err != nil {
		t.Fatal(err)
	}
	slowed, changed := fmt.Sprintf("h%d", h.Index), time.Since(began).Seconds()
	least, most = rate(100)
	until("the forecast follows a change", is(measured.Mbps, "south1", "south2", least, most))
	for _, a := range []string{"north1", "north2", "north3"} {
		for _, b := range []string{"north1", "north2", "north3"} {
			least, most := rate(100)
			if a < b {
				until(a+" to "+b+" is known", is(measured.Mbps, a, b, least, most))
			}
		}
	}
	until("some time has passed", func() bool { return time.Since(began) > 30*time.Second })
	after, took := carried(t, l), time.Since(began).Seconds()
	check := func(name string, mbps float64) {
		if name == slowed { // it was faster at first
			mbps = (200*changed + 100*(took-changed)) / took
		}
		part := (after[name] - before[name]) / (mbps * 1e6 / 8 * took)
		t.Logf("%s: %.2f %% of %g Mbit/s in %.0f s", name, 100*part, mbps, took)
		if part >= 0.01 {
			t.Errorf("probing takes %.2f %% of %s", 100*part, name)
		}
	}
	for _, h := range hosts {
		x, _ := l.FindHost(h.Name)
		check(fmt.Sprintf("h%d", x.Index), x.Mbps)
	}
	check("up1", 40)
	check("up2", 40)
	until("the graph of three hosts is right", func() bool {
		g := book.NetworkGraph([]string{"north1", "north3", "south2"}, now(), 0)
		right := len(g.Links) == 3
		for _, k := range g.Links {
			least, most := rate(40)
			if g.Hosts[k.A] == "north1" && g.Hosts[k.B] == "north3" {
				least, most = rate(100)
			}
			right = right && k.Mbps >= least && k.Mbps <= most
		}
		return right
	})
}

// A slow link has a short queue: a stream that gets up to speed loses packets there,
// and what came after the first of them is not acknowledged for a while.
func TestAWayThatLosesPacketsIsNotTakenForASlowerOne(t *testing.T) {
	l := bed(t, "clusters: [{name: slow, hosts: 2, mbps: 10}]")
	var ends []*onHost
	for _, name := range []string{"slow1", "slow2"} {
		h, err := l.FindHost(name)
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, startSensor(t, h))
	}
	// Others use this machine: it is tried a few times.
	var there, back []float64
	for range 5 {
		there, back = probes(t, ends)
		if right(there) && right(back) {
			return
		}
	}
	t.Errorf("10 Mbit/s are said to be %.1f there and %.1f back", there, back)
}

// right says whether the middle one of a few probes is what a link of 10 Mbit/s gives.
func right(list []float64) bool {
	slices.Sort(list)
	middle := list[len(list)/2]
	return middle >= 0.85*0.95*10 && middle <= 1.15*0.95*10
}

// probes measures the way between two sensors a few times.
func probes(t *testing.T, ends []*onHost) (there, back []float64) {
	t.Helper()
	for range 5 {
		listens, err := ends[1].MeasureHosts(t.Context(), driver.Sensing{Listen: &driver.Listening{Name: "slow2"}})
		if err != nil {
			t.Fatal(err)
		}
		sensed, err := ends[0].MeasureHosts(t.Context(),
			driver.Sensing{Probe: &driver.Probe{To: *listens.Listens, Bytes: 400 << 10}})
		if err != nil {
			t.Fatal(err)
		}
		there, back = append(there, sensed.Way.There.Mbps), append(back, sensed.Way.Back.Mbps)
	}
	return there, back
}
