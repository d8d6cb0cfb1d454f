package daemon_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

const twoSlots = `
clusters:
  - {name: local, cpus: [0, 1], slots: 2}
`

// separateBroker is a broker in a process of its own, whose jobs do not end before
// the benchmark does.
type separateBroker struct {
	testing.TB
	dir     string
	client  *api.Client
	process *exec.Cmd
}

func upSeparate(t testing.TB, settings string) *separateBroker {
	t.Helper()
	b := &separateBroker{TB: t, dir: t.TempDir()}
	b.must(os.WriteFile(filepath.Join(b.dir, "config.yaml"), []byte(settings), 0o600))
	b.must(syscall.Mkfifo(b.fifo(), 0o600))
	t.Cleanup(b.clear)
	b.start()
	return b
}

func (b *separateBroker) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *separateBroker) state() string { return filepath.Join(b.dir, "state") }
func (b *separateBroker) fifo() string  { return filepath.Join(b.dir, "fifo") }

// start starts the broker and tells how long it takes until it answers.
func (b *separateBroker) start() time.Duration {
	b.Helper()
	begin := time.Now()
	b.process = exec.Command(binary, "up", "--config", filepath.Join(b.dir, "config.yaml"), "--log", "warn")
	b.process.Env = append(os.Environ(), "GODWIT_STATE="+b.state())
	b.process.Stdout, b.process.Stderr = b.Output(), b.Output()
	b.must(b.process.Start())
	b.client = api.DialBroker(api.SocketPath(b.state()))
	clocktest.PollLoop{Pause: time.Millisecond}.WaitFor(b, "an answer of the broker", func() bool {
		_, err := b.client.PingBroker(context.Background())
		return err == nil
	})
	return time.Since(begin)
}

func (b *separateBroker) end(s syscall.Signal) {
	b.client.Close()
	_ = b.process.Process.Signal(s)
	_ = b.process.Wait()
}

// clear ends the broker, its agents and their programs.
func (b *separateBroker) clear() {
	b.end(syscall.SIGTERM)
	release, err := os.OpenFile(b.fifo(), os.O_RDWR, 0)
	b.must(err)
	defer func() { _ = release.Close() }()
	all, err := os.ReadDir("/proc")
	b.must(err)
	for _, e := range all {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		exe, _ := os.Readlink(filepath.Join("/proc", e.Name(), "exe")) // "": it has ended
		if err == nil && exe == binary && strings.Contains(string(env), b.state()) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// memory is a line of the broker's /proc/PID/status, in MB.
func (b *separateBroker) memory(line string) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.process.Process.Pid))
	b.must(err)
	_, rest, _ := strings.Cut(string(text), line+":")
	kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	b.must(err)
	return kb / 1e3
}

// waitingJob is a job that runs until the benchmark is over.
func (b *separateBroker) waitingJob() jobfile.Job {
	spec := job("/bin/sh", "-c", ": < "+b.fifo())
	spec.Checkpoint.Method = "restart"
	return spec
}

// another is the same broker, asked over connections of its own.
func (b *separateBroker) another() *separateBroker {
	return &separateBroker{TB: b.TB, dir: b.dir, client: api.DialBroker(api.SocketPath(b.state()))}
}

func (b *separateBroker) submit(spec jobfile.Job) time.Duration {
	b.Helper()
	begin := time.Now()
	if _, err := b.client.SubmitJob(context.Background(), &api.Submit{Job: spec}); err != nil {
		b.Error(err)
	}
	return time.Since(begin)
}

func (b *separateBroker) list(all bool) time.Duration {
	b.Helper()
	begin := time.Now()
	if _, err := b.client.ListJobs(context.Background(), all); err != nil {
		b.Error(err)
	}
	return time.Since(begin)
}

// ping is how long the broker takes to answer what needs the least work.
func (b *separateBroker) ping() time.Duration {
	b.Helper()
	begin := time.Now()
	if _, err := b.client.PingBroker(context.Background()); err != nil {
		b.Error(err)
	}
	return time.Since(begin)
}

// occupy has jobs hold every slot.
func (b *separateBroker) occupy() {
	b.Helper()
	for range 2 {
		b.submit(b.waitingJob())
	}
	clocktest.WaitFor(b, "every slot to be held", func() bool {
		jobs, err := b.client.ListJobs(context.Background(), false)
		b.must(err)
		running := 0
		for i := range jobs {
			if jobs[i].Started != nil {
				running++
			}
		}
		return running == 2
	})
}

// patientLoop is for what a broker with a hundred thousand jobs takes its time for, and
// should not be kept from by questions.
var patientLoop = clocktest.PollLoop{Limit: 5 * time.Minute, Pause: 50 * time.Millisecond}

// submitMany submits n jobs from several clients at once, and tells how many a
// second it took in.
func (b *separateBroker) submitMany(n, clients int) float64 {
	b.Helper()
	begin := time.Now()
	var all sync.WaitGroup
	for range clients {
		one := b.another()
		all.Go(func() {
			defer one.client.Close()
			for range n / clients {
				one.submit(one.waitingJob())
			}
		})
	}
	all.Wait()
	return float64(n) / time.Since(begin).Seconds()
}

// queued waits until as much of an array is in the queue as comes there.
func (b *separateBroker) queued(pending int) {
	b.Helper()
	now := 0
	patientLoop.WaitFor(b, fmt.Sprintf("an array of which at most %d are outside the queue", pending), func() bool {
		jobs, err := b.client.ListJobs(context.Background(), false)
		b.must(err)
		now = 0
		for i := range jobs {
			now += jobs[i].Pending
		}
		return now > 0 && now <= pending
	}, func() string { return fmt.Sprint(now) })
}

func quantile(list []time.Duration, p float64) time.Duration {
	slices.Sort(list)
	return list[min(len(list)-1, int(p*float64(len(list))))]
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }

// median is that of several calls, in milliseconds.
func median(n int, f func() time.Duration) float64 {
	var list []time.Duration
	for range n {
		list = append(list, f())
	}
	return milliseconds(quantile(list, 0.5))
}

// meanwhile asks again and again until it is told to stop, and then gives all
// times that it took.
func meanwhile(ask func() time.Duration) (stop func() []time.Duration) {
	var list []time.Duration
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ended:
				return
			case <-time.After(5 * time.Millisecond):
				list = append(list, ask())
			}
		}
	}()
	return func() []time.Duration { close(ended); <-done; return list }
}

// commandLine is how long the command takes to list jobs.
func (b *separateBroker) commandLine() time.Duration {
	b.Helper()
	cmd := exec.Command(binary, "ps")
	cmd.Env = append(os.Environ(), "GODWIT_STATE="+b.state())
	begin := time.Now()
	b.must(cmd.Run())
	return time.Since(begin)
}

// BenchmarkArrayOf100000 is an array of a hundred thousand jobs in a broker of its
// own process, and what others notice of it. A second broker without the array is
// what it is compared with.
func BenchmarkArrayOf100000(b *testing.B) {
	const elements = 100_000
	for b.Loop() {
		empty, full := upSeparate(b, twoSlots), upSeparate(b, twoSlots)
		empty.occupy()
		full.occupy()
		for range 50 { // what runs for the first time is slower
			empty.submit(empty.waitingJob())
			full.submit(full.waitingJob())
		}
		spec := full.waitingJob()
		spec.Array = jobfile.ArrayRange{First: 1, Last: elements, Step: 1}
		other := full.another()
		lists := meanwhile(func() time.Duration { return other.list(false) })
		submissions := meanwhile(func() time.Duration { return other.submit(other.waitingJob()) })
		b.ReportMetric(milliseconds(full.submit(spec)), "array-ms")
		full.queued(elements - 1000)
		time.Sleep(time.Second) // what others notice of it is measured for as long
		for what, list := range map[string][]time.Duration{"ps": lists(), "submit": submissions()} {
			b.ReportMetric(milliseconds(quantile(list, 0.5)), "beside-"+what+"-p50-ms")
			b.ReportMetric(milliseconds(quantile(list, 1)), "beside-"+what+"-max-ms")
		}
		other.client.Close()
		b.ReportMetric(full.memory("VmHWM"), "peak-RSS-MB")
		b.ReportMetric(median(20, func() time.Duration { return full.list(false) }), "ps-ms")
		b.ReportMetric(median(20, func() time.Duration { return full.list(true) }), "ps-all-ms")
		b.ReportMetric(median(10, full.commandLine), "ps-command-ms")
		compareSubmissions(b, empty, full)
		full.end(syscall.SIGKILL)
		b.ReportMetric(milliseconds(full.start()), "start-ms")
		full.list(false)
		b.ReportMetric(full.memory("VmRSS"), "RSS-after-start-MB")
	}
}

// compareSubmissions measures how many jobs a second two brokers take in, in turns.
func compareSubmissions(b *testing.B, empty, full *separateBroker) {
	b.Helper()
	for _, clients := range []int{1, 16} {
		var rates [2]float64
		const turns = 5
		for range turns {
			rates[0] += empty.submitMany(64, clients) / turns
			rates[1] += full.submitMany(64, clients) / turns
		}
		b.ReportMetric(rates[0], fmt.Sprintf("empty-submit-%d/s", clients))
		b.ReportMetric(rates[1], fmt.Sprintf("submit-%d/s", clients))
	}
}

// BenchmarkManySubmissions is ten thousand jobs that are submitted one by one, and
// what they cost afterwards.
func BenchmarkManySubmissions(b *testing.B) {
	for b.Loop() {
		empty, full := upSeparate(b, twoSlots), upSeparate(b, twoSlots)
		empty.occupy()
		full.occupy()
		pings := meanwhile(full.another().ping)
		for n := range 5 {
			b.ReportMetric(full.submitMany(2000, 16), fmt.Sprintf("with-%d-submit-16/s", 2000*n))
		}
		b.ReportMetric(milliseconds(quantile(pings(), 1)), "beside-ping-max-ms")
		b.ReportMetric(full.memory("VmHWM"), "peak-RSS-MB")
		b.ReportMetric(median(10, func() time.Duration { return full.list(false) }), "ps-ms")
		b.ReportMetric(median(5, full.commandLine), "ps-command-ms")
		compareSubmissions(b, empty, full)
		full.end(syscall.SIGKILL)
		b.ReportMetric(milliseconds(full.start()), "start-ms")
		full.list(false)
		b.ReportMetric(full.memory("VmRSS"), "RSS-after-start-MB")
	}
}

// BenchmarkArrayThatRuns is the first twenty seconds of an array of a hundred thousand
// jobs that do nothing, and how long others wait meanwhile.
func BenchmarkArrayThatRuns(b *testing.B) {
	for b.Loop() {
		broker := upSeparate(b, shortJobs)
		spec := job("/bin/true")
		spec.Checkpoint.Method = "restart"
		spec.Array = jobfile.ArrayRange{First: 1, Last: 100_000, Step: 1}
		other := broker.another()
		broker.submit(spec)
		pings, submissions := meanwhile(other.ping), meanwhile(func() time.Duration {
			time.Sleep(50 * time.Millisecond) // one who submits now and then
			return other.submit(job("/bin/true"))
		})
		begin := time.Now()
		time.Sleep(20 * time.Second) // this long is measured
		own := submissions()
		ping, err := broker.client.PingBroker(context.Background())
		broker.must(err)
		b.ReportMetric(float64(100_000+len(own)-ping.Jobs)/time.Since(begin).Seconds(), "jobs/s")
		waits := pings()
		for what, list := range map[string][]time.Duration{"ping": waits, "submit": own} {
			b.ReportMetric(milliseconds(quantile(list, 0.5)), "beside-"+what+"-p50-ms")
			b.ReportMetric(milliseconds(quantile(list, 0.99)), "beside-"+what+"-p99-ms")
			b.ReportMetric(milliseconds(quantile(list, 1)), "beside-"+what+"-max-ms")
		}
		b.ReportMetric(median(10, func() time.Duration { return broker.list(false) }), "ps-ms")
		b.ReportMetric(broker.memory("VmHWM"), "peak-RSS-MB")
	}
}

// BenchmarkArrayIsReleased is an array of a hundred thousand jobs that wait for another one:
// how long others wait while it is taken in, and while that one ends and they are released.
func BenchmarkArrayIsReleased(b *testing.B) {
	const elements = 100_000
	for b.Loop() {
		broker := upSeparate(b, twoSlots)
		first, err := broker.client.SubmitJob(context.Background(), &api.Submit{Job: broker.waitingJob()})
		broker.must(err)
		broker.submit(broker.waitingJob())
		spec := broker.waitingJob()
		spec.Array = jobfile.ArrayRange{First: 1, Last: elements, Step: 1}
		spec.After = []jobfile.Dependency{{Job: fmt.Sprint(first.IDs[0]), When: jobfile.Over}}
		other := broker.another()
		pings, begin := meanwhile(other.ping), time.Now()
		array, err := broker.client.SubmitJob(context.Background(), &api.Submit{Job: spec})
		broker.must(err)
		last := fmt.Sprint(array.IDs[elements-1])
		reportWaits := func(what string) {
			b.ReportMetric(time.Since(begin).Seconds(), what+"-s")
			list := pings()
			b.ReportMetric(milliseconds(quantile(list, 0.99)), what+"-ping-p99-ms")
			b.ReportMetric(milliseconds(quantile(list, 1)), what+"-ping-max-ms")
		}
		broker.untilReason(last, func(why string) bool { return strings.Contains(why, "waiting for job") })
		broker.queued(elements - 1000) // the first are with the scheduler
		reportWaits("take-in")
		b.ReportMetric(broker.memory("VmRSS"), "waiting-RSS-MB")
		pings, begin = meanwhile(other.ping), time.Now()
		_, err = broker.client.CancelNow(context.Background(), fmt.Sprint(first.IDs[0]))
		broker.must(err)
		broker.untilReason(last, func(why string) bool { return !strings.Contains(why, "waiting for job") })
		time.Sleep(5 * time.Second) // measured too: those that were released are described and queued
		reportWaits("release")
		b.ReportMetric(broker.memory("VmHWM"), "peak-RSS-MB")
		broker.end(syscall.SIGKILL)
		b.ReportMetric(milliseconds(broker.start()), "start-ms")
		broker.list(false)
		b.ReportMetric(broker.memory("VmRSS"), "RSS-after-start-MB")
	}
}

// BenchmarkManyWaiters is ten thousand jobs, submitted one by one with the same working directory,
// that wait for another one: how long others wait while that one ends, its results are handed to
// them and they are released.
func BenchmarkManyWaiters(b *testing.B) {
	const waiters = 10_000
	for b.Loop() {
		broker := upSeparate(b, twoSlots)
		work, _, _, err := depot.PushFolder(context.Background(), b.TempDir(),
			depot.NewClient(broker.client.HTTP, api.Base+"/v1/depot"), depot.PushOptions{})
		broker.must(err)
		submit := func(c *separateBroker, spec jobfile.Job) string {
			spec.Workdir, spec.Outputs = "/tmp", []string{"result"}
			accepted, err := c.client.SubmitJob(context.Background(), &api.Submit{Job: spec, Work: string(work)})
			c.must(err)
			return fmt.Sprint(accepted.IDs[0])
		}
		spec := job("/bin/sh", "-c", "echo it > result; : < "+broker.fifo())
		spec.Checkpoint.Method = "restart"
		first := submit(broker, spec)
		broker.submit(broker.waitingJob())
		next := broker.waitingJob()
		next.After = []jobfile.Dependency{{Job: first, When: jobfile.Over}}
		var all sync.WaitGroup
		var last atomic.Value
		for range 16 {
			one := broker.another()
			all.Go(func() {
				defer one.client.Close()
				for range waiters / 16 {
					last.Store(submit(one, next))
				}
			})
		}
		all.Wait()
		other := broker.another()
		pings, lists := meanwhile(other.ping), meanwhile(func() time.Duration { return other.list(false) })
		begin := time.Now()
		_, err = broker.client.CancelNow(context.Background(), first)
		broker.must(err)
		broker.untilReason(last.Load().(string), func(why string) bool { return !strings.Contains(why, "waiting for job") })
		b.ReportMetric(time.Since(begin).Seconds(), "release-s")
		time.Sleep(5 * time.Second) // measured too: those that were released are described and queued
		for what, list := range map[string][]time.Duration{"ping": pings(), "ps": lists()} {
			b.ReportMetric(milliseconds(quantile(list, 0.5)), "beside-"+what+"-p50-ms")
			b.ReportMetric(milliseconds(quantile(list, 1)), "beside-"+what+"-max-ms")
		}
		b.ReportMetric(broker.memory("VmHWM"), "peak-RSS-MB")
	}
}

// untilReason waits until the reason why a job waits is as wanted.
func (b *separateBroker) untilReason(id string, is func(why string) bool) {
	b.Helper()
	var j api.Job
	patientLoop.WaitFor(b, "job "+id+" to wait for another reason", func() bool {
		var err error
		j, err = b.client.GetJob(context.Background(), id)
		b.must(err)
		return is(j.Why)
	}, func() string { return fmt.Sprintf("it is %s: %s", j.State, j.Why) })
}
