package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// countingProgram says how far it is, and writes to both streams.
const countingProgram = `i=0
while [ $i -lt 600 ]; do
  i=$((i+1)); echo "step $i/600"; [ $i = 5 ] && echo "a warning" >&2; sleep 0.2
done
`

const diagnosis = `name: engine-diagnosis
run: sh count.sh
inputs: [count.sh]
deadline: 10m
progress: 'step (\d+)/(\d+)'
checkpoint: restart
labels: {sweep: "3"}
`

// TestTheDashboardInABrowser is one test for all pages: starting a browser takes longer than looking at one.
func TestTheDashboardInABrowser(t *testing.T) {
	b := newBed(t)
	b.see("that there are no jobs", `document.querySelector(".empty")`)
	b.write("count.sh", countingProgram)
	main := b.godwit("submit", b.write("job.yaml", diagnosis))
	for i := range 12 {
		b.godwit("submit", b.write("short.yaml", fmt.Sprintf("name: sweep-%d\nrun: exit %d\ndeadline: 20m\n", i, i%6/5)))
	}
	b.godwit("submit", b.write("after.yaml", "name: report\nrun: 'true'\nafter: [engine-diagnosis]\n"))
	b.see("all jobs, by the stream", `document.querySelectorAll("[data-job]").length === 14`)
	b.until("a prediction", func() bool { return len(fetch[api.Timeline](b, "/v1/jobs/"+main+"/timeline").Outlooks) > 0 })

	b.seeJobs()
	b.seeCharts(main)
	b.seeOutput(main)
	b.seeMove(main)
	b.walkPages(main)
	b.cancelInPage()
	b.breakBroker()
}

// seeJobs compares the list with what the broker answers, with and without filters.
func (b *bed) seeJobs() {
	b.Helper()
	b.until("the short jobs", func() bool {
		return len(fetch[api.JobPage](b, "/v1/jobs?state=done,failed&limit=100").Jobs) == 12
	})
	for query, state := range map[string]string{"": "", "?state=done": "state=done&", "?state=failed": "state=failed&",
		"?text=SWEEP-1":    "text=sweep-1&",
		"?label=sweep%3D3": "label=sweep%3D3&"} {
		b.visit("#/jobs"+query, "Jobs")
		var want []string
		for _, j := range fetch[api.JobPage](b, "/v1/jobs?"+state+"limit=100").Jobs {
			want = append(want, fmt.Sprintf("%d %s", j.ID, j.State))
		}
		text, _ := json.Marshal(want)
		b.see("the jobs of "+query, fmt.Sprintf(`JSON.stringify([...document.querySelectorAll("[data-job]")].map(e => e.dataset.job + " " + e.dataset.state)) === %q`,
			text))
	}
	b.visit("#/jobs", "Jobs")
	b.see("all jobs again", `document.querySelectorAll("[data-job]").length === 14`)
	b.do(chromedp.Focus(chromedp.CSS(".list")), chromedp.KeyEvent("j"), chromedp.KeyEvent("x"))
	b.see("that a job is selected", `document.querySelector(".actions b")?.textContent === "1 selected"`)
	b.do(chromedp.KeyEvent("x"))
	b.see("that none is", `!document.querySelector(".actions")`)
	b.visit("#/jobs?label=sweep%3D3", "Jobs")
	b.see("the job with a label", `document.querySelectorAll("[data-job]").length === 1`)
}

// seeCharts compares the values of the charts of a job with those of the broker.
func (b *bed) seeCharts(id string) {
	b.Helper()
	b.visit("#/job/"+id, "Job "+id)
	b.see("the chart", `document.querySelectorAll("table.values tbody tr").length > 0`)
	rows := eval[[][]string](b, `[...document.querySelector("table.values").querySelectorAll("tbody tr")].map(r => [...r.children].map(c => c.dataset.value))`)
	t := fetch[api.Timeline](b, "/v1/jobs/"+id+"/timeline") // which may have more by now
	if len(rows) == 0 || len(rows) > len(t.Outlooks) {
		b.Fatalf("the chart has %d points, the broker %d", len(rows), len(t.Outlooks))
	}
	for i, row := range rows {
		o := t.Outlooks[i]
		var got [5]float64
		for k := range got {
			if _, err := fmt.Sscan(row[k], &got[k]); err != nil {
				b.Fatalf("point %d is %q: %v", i, row, err)
			}
		}
		seconds := func(at api.Time) float64 { return float64(at.UnixMilli()) / 1000 }
		if want := [5]float64{seconds(o.At), seconds(*o.Late), seconds(*o.Middle), seconds(*o.Early), seconds(*t.Deadline)}; got != want {
			b.Errorf("point %d of the chart is %v, the broker says %v", i, got, want)
		}
	}
	b.see("a canvas with something on it", `(() => { const c = document.querySelector(".chart canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
		return d.some(x => x !== 0) })()`)
	b.see("where it ran", `document.querySelector(".timeline i.running")`)
}

// seeMove moves a job while its page is open.
func (b *bed) seeMove(id string) {
	b.Helper()
	b.visit("#/job/"+id, "Job "+id)
	b.godwit("migrate", id)
	b.see("both clusters in the timeline", `document.querySelectorAll(".timeline i.running").length >= 2 &&
		document.querySelectorAll(".timeline .lane").length === 3`)
	b.see("what is now predicted", `document.querySelector("table.values").querySelectorAll("tbody tr").length > 1`)
}

func (b *bed) seeOutput(id string) {
	b.Helper()
	b.visit("#/job/"+id+"/logs", "Job "+id)
	b.see("output, from its beginning on", `/^step 1\/600\nstep 2\/600\n/.test(document.querySelector("pre.output")?.textContent)`)
	b.click("stderr")
	b.see("the other stream", `document.querySelector("pre.output").textContent === "a warning\n"`)
}

// walkPages has each page checked in both themes, and walked through by keyboard.
func (b *bed) walkPages(id string) {
	b.Helper()
	for _, theme := range []string{"light", "dark"} {
		if eval[string](b, "document.documentElement.dataset.theme") != theme {
			b.do(chromedp.Click(chromedp.CSS(`header > button`)))
		}
		for _, p := range []struct{ name, address, title, there string }{
			{"jobs", "#/jobs", "Jobs", `document.querySelector("[data-job]")`},
			{"job", "#/job/" + id, "Job " + id, `document.querySelector(".chart canvas")`},
			{"explain", "#/job/" + id + "/explain", "Job " + id, `document.querySelector(".decisions li")`},
			{"logs", "#/job/" + id + "/logs", "Job " + id, `document.querySelector("pre.output")?.textContent.includes("step")`},
			{"new", "#/new", "New job", `document.querySelector("#command")`},
			{"flows", "#/flows", "Workflows", `document.querySelector(".empty")`},
			{"clusters", "#/clusters", "Clusters", `document.querySelectorAll(".card").length === 2`},
			{"weather", "#/weather", "Network weather", `document.querySelector(".empty, table")`},
			{"history", "#/history", "How it went", `document.querySelector("table")`},
			{"broker", "#/broker", "Broker", `document.querySelector(".facts")`},
		} {
			b.visit(p.address, p.title)
			b.see(p.name, p.there)
			b.checkAccess(p.name + ", " + theme)
			b.shoot(p.name + "-" + theme)
			if theme == "dark" {
				b.walkKeys(p.name)
			}
		}
	}
}

// walkKeys presses Tab until it comes round, and compares where it was with what can be operated.
func (b *bed) walkKeys(page string) {
	b.Helper()
	const operable = `[...document.querySelectorAll("a[href], button:not([disabled]), input, select, textarea, summary, [tabindex='0']")].filter(e => e.checkVisibility())`
	n := eval[int](b, `(window.reached = new Set(), document.activeElement?.blur(), `+operable+`.length)`)
	for range 3*n + 10 {
		b.do(chromedp.KeyEvent(kb.Tab))
		if eval[bool](b, `(reached.add(document.activeElement), `+operable+`.every(e => reached.has(e)))`) {
			return
		}
	}
	b.Errorf("%s: Tab does not reach %v", page, eval[[]string](b, operable+`.filter(e => !reached.has(e)).map(e => e.outerHTML.slice(0, 120))`))
}

// cancelInPage submits a job in the page and cancels it there.
func (b *bed) cancelInPage() {
	b.Helper()
	b.visit("#/new", "New job")
	b.do(chromedp.SendKeys(chromedp.CSS("#command"), "sleep 1000"))
	b.click("Quote")
	b.see("a quote of both clusters", `document.querySelectorAll("main tbody tr").length === 2`)
	b.click("Submit")
	b.see("the job that was submitted", `/^#\/job\/\d+$/.test(location.hash)`)
	id := strings.TrimPrefix(eval[string](b, "location.hash"), "#/job/")
	b.see("its state", `document.querySelector("h1 .state")`)
	b.click("Cancel…")
	b.see("the question", `document.querySelector("dialog[open] .main")`)
	b.checkAccess("the dialog")
	b.shoot("dialog")
	if j := fetch[api.Job](b, "/v1/jobs/"+id); j.IsOver() {
		b.Error("a job was cancelled before that was confirmed")
	}
	b.click("Yes")
	b.see("that it is cancelled", `document.querySelector("h1 .state")?.textContent === "cancelled"`)
}

// breakBroker kills the broker while a page is open, and compares what the page saw with the log.
func (b *bed) breakBroker() {
	b.Helper()
	b.visit("#/broker", "Broker")
	b.see("events", `document.querySelector("[data-event]")`)
	b.killBroker()
	b.see("that the broker is gone", `document.querySelector(".banner")`)
	b.shoot("banner")
	b.startBroker()
	last := ""
	for i := range 3 {
		last = b.godwit("submit", b.write("again.yaml", fmt.Sprintf("name: again-%d\nrun: 'true'\n", i)))
	}
	b.see("that it is back", `!document.querySelector(".banner")`)
	b.until("the last job", func() bool {
		j := fetch[api.Job](b, "/v1/jobs/"+last)
		return j.IsOver()
	})
	end := fetch[api.JobPage](b, "/v1/jobs?limit=1").Event
	want := b.loggedEvents(end)
	b.see("what happened meanwhile", fmt.Sprintf(`Number(document.querySelector("[data-event]").dataset.event) >= %d`, want[len(want)-1]))
	got := eval[[]uint64](b, `[...document.querySelectorAll("[data-event]")].map(e => Number(e.dataset.event)).reverse()`)
	want = want[slices.Index(want, got[0]):]
	got = got[:min(len(got), len(want))]
	if !slices.Equal(got, want) {
		b.Errorf("the page saw the events\n%v, the log has\n%v", got, want)
	}
}

// loggedEvents are the numbers of the events about jobs up to one, as who asks for them all anew is told.
func (b *bed) loggedEvents(end uint64) (list []uint64) {
	b.Helper()
	c := b.client()
	defer c.Close()
	ctx, stop := context.WithTimeout(b.Context(), patience)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, api.Base+"/v1/events?since=1", nil)
	if err != nil {
		b.Fatal(err)
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<24)
	for id := uint64(0); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			if _, err := fmt.Sscan(text, &id); err != nil {
				b.Fatal(err)
			}
		}
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var m api.Changes
		if err := json.Unmarshal([]byte(text), &m); err != nil || m.Reset {
			b.Fatalf("%s: %v", text, err)
		}
		for _, change := range m.Changes {
			list = append(list, change.Event)
		}
		if id >= end {
			return list
		}
	}
	b.Fatal(lines.Err())
	return nil
}
