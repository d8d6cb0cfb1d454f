package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/godwit-hpc/godwit/internal/cli"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// TestMain lets this program be godwit itself: for the broker, its agents and the dashboard.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		os.Exit(cli.RunCommand("test", os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// patience is how long anything may take on a slow machine that others use too.
const patience = 3 * time.Minute

// bed is a broker with a dashboard, and a browser that looks at it.
type bed struct {
	*testing.T
	dir    string
	broker *exec.Cmd
	url    string // with the token
	tab    context.Context
}

const settings = `clusters:
  - name: north
    slots: 2
  - name: south
    slots: 2
intervals:
  sample: 200ms
`

func newBed(t *testing.T) *bed {
	t.Helper()
	dir, err := os.MkdirTemp("", "gw-web-") // short: sockets are in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	t.Setenv("GODWIT_STATE", filepath.Join(dir, "state"))
	b := &bed{T: t, dir: dir}
	b.write("conf.yaml", settings)
	b.startBroker()
	t.Cleanup(func() {
		_, _ = b.try("cancel", "all")
		b.killBroker()
	})
	b.openDashboard()
	return b
}

func (b *bed) write(name, text string) string {
	b.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
	return path
}

func (b *bed) command(args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	c := exec.Command(self, args...)
	c.Dir = b.dir
	return c
}

func (b *bed) try(args ...string) (string, error) {
	out, err := b.command(args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (b *bed) godwit(args ...string) string {
	b.Helper()
	out, err := b.try(args...)
	if err != nil {
		b.Fatalf("godwit %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// until waits for something.
func (b *bed) until(what string, holds func() bool) {
	b.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			jobs, _ := b.try("ps", "--all")
			b.Fatalf("waited %v for %s; the jobs are\n%s", patience, what, jobs)
		}
	}
}

func (b *bed) startBroker() {
	b.Helper()
	b.broker = b.command("up", "--config", "conf.yaml")
	if err := b.broker.Start(); err != nil {
		b.Fatal(err)
	}
	b.until("the broker", func() bool {
		c := b.client()
		defer c.Close()
		_, err := c.PingBroker(b.Context())
		return err == nil
	})
}

func (b *bed) killBroker() {
	_ = b.broker.Process.Signal(syscall.SIGKILL)
	_ = b.broker.Wait()
}

func (b *bed) client() *api.Client { return api.DialBroker(api.SocketPath(os.Getenv("GODWIT_STATE"))) }

// fetch asks the broker itself.
func fetch[T any](b *bed, path string) (v T) {
	b.Helper()
	c := b.client()
	defer c.Close()
	ctx, stop := context.WithTimeout(b.Context(), patience)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, api.Base+path, nil)
	if err != nil {
		b.Fatal(err)
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil || resp.StatusCode != http.StatusOK {
		b.Fatalf("%s: %s %s, %v", path, resp.Status, text, err)
	}
	return v
}

// openDashboard starts the dashboard and opens it in a browser.
func (b *bed) openDashboard() {
	b.Helper()
	c := b.command("dashboard", "--print", "-o", "json")
	c.Env = append(os.Environ(), "SSH_CONNECTION=")
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
	})
	var at struct{ URL string }
	if err := json.NewDecoder(out).Decode(&at); err != nil {
		b.Fatal(err)
	}
	b.url = at.URL
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browserPath(b)), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.Flag("disable-dev-shm-usage", true), chromedp.WindowSize(1280, 860),
		chromedp.WSURLReadTimeout(patience))
	browser, stop := chromedp.NewExecAllocator(context.Background(), options...)
	b.Cleanup(stop)
	tab, closeTab := chromedp.NewContext(browser)
	b.Cleanup(closeTab)
	limited, cancel := context.WithTimeout(tab, 4*patience)
	b.Cleanup(cancel)
	b.tab = limited
	b.do(chromedp.Navigate(b.url))
	b.see("the list of jobs", `document.querySelector("main h1")?.textContent === "Jobs"`)
}

func browserPath(b *bed) string {
	for _, name := range []string{"chromium-headless-shell", "chromium"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	b.Fatal("there is no browser: make deps")
	return ""
}

func (b *bed) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.tab, actions...); err != nil {
		b.Fatal(err)
	}
}

// eval is what an expression is in the page.
func eval[T any](b *bed, expression string) T {
	b.Helper()
	v, err := chromedp.Run(b.tab, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatalf("%s: %v", expression[:min(len(expression), 300)], err)
	}
	return v
}

// run evaluates an expression whose value does not matter.
func (b *bed) run(expression string) {
	b.Helper()
	eval[chromedp.Void](b, expression)
}

// click clicks on the first button with this text.
func (b *bed) click(text string) {
	b.Helper()
	b.run(fmt.Sprintf(`document.querySelectorAll("[data-clicked]").forEach(e => delete e.dataset.clicked);
		[...document.querySelectorAll("button")].find(e => e.textContent === %q).dataset.clicked = "now"`, text))
	b.do(chromedp.Click(chromedp.CSS("[data-clicked]")))
}

// see waits until an expression holds in the page.
func (b *bed) see(what, expression string) {
	b.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if eval[bool](b, "Boolean("+expression+")") {
			return
		}
		if time.Now().After(end) {
			b.Fatalf("waited %v to see %s; the page is\n%s", patience, what, eval[string](b, "document.body.innerText"))
		}
	}
}

// visit goes to a page.
func (b *bed) visit(address, title string) {
	b.Helper()
	b.run(fmt.Sprintf("location.hash = %q", address))
	b.see(address, fmt.Sprintf(`document.querySelector("main h1")?.textContent.startsWith(%q)`, title))
}

// shoot takes a picture for the guides, if they are to be made anew.
func (b *bed) shoot(name string) {
	b.Helper()
	to := os.Getenv("GODWIT_SCREENSHOTS")
	if to == "" {
		return
	}
	b.do(chromedp.Sleep(300 * time.Millisecond))
	picture, err := chromedp.Run(b.tab, chromedp.FullScreenshot(100))
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(to, name+".png"), picture, 0o644); err != nil {
		b.Fatal(err)
	}
}

// axeSource is the checker of accessibility, which npm brings.
var axeSource = sync.OnceValues(func() ([]byte, error) {
	const path = "../../../web/node_modules/axe-core/axe.min.js"
	text, err := os.ReadFile(path)
	if !errors.Is(err, os.ErrNotExist) {
		return text, err
	}
	var said bytes.Buffer
	install := exec.Command("npm", "ci", "--no-audit", "--no-fund")
	install.Dir, install.Stdout, install.Stderr = "../../../web", &said, &said
	if err := install.Run(); err != nil {
		return nil, fmt.Errorf("npm ci in web: %w\n%s", err, said.Bytes())
	}
	return os.ReadFile(path)
})

// checkAccess has axe look at the page as it is.
func (b *bed) checkAccess(page string) {
	b.Helper()
	if !eval[bool](b, "Boolean(window.axe)") {
		source, err := axeSource()
		if err != nil {
			b.Fatal(err)
		}
		b.run(string(source) + "; 0")
	}
	found := eval[string](b, `axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.map(v => v.id + ": " + v.help + "\n  " +
		v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + " " + n.failureSummary).join("\n  ")).join("\n"))`)
	if found != "" {
		b.Errorf("%s: %s", page, found)
	}
}
