// Package dashboard is the pages that people look at in a browser, and the proxy to the broker for these: what
// comes over a loopback port from who holds a token is handed to the broker's socket, as the user who
// started it. Who may see and do what the broker decides, which knows that user from its socket.
// The package must not decide anything about jobs.
package dashboard

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// Options is what a proxy needs.
type Options struct {
	Broker http.RoundTripper // asks the broker, as the user who started it
	Pages  fs.FS
	Hosts  []string     // names besides those of loopback by which it may be asked, of proxies before it
	Used   func(string) // told, when the token was used, the next one
}

// BrowserProxy answers browsers.
type BrowserProxy struct {
	Options
	cookie  string // its name: several doors on one host must not take each other's
	proxied http.Handler
	pages   http.Handler

	mu       sync.Mutex
	token    string
	sessions []string
}

// NewBrowserProxy opens nothing yet: it answers what a server hands it.
func NewBrowserProxy(o Options) *BrowserProxy {
	d := &BrowserProxy{Options: o, cookie: "godwit_" + randomText(4), token: randomText(16)}
	d.proxied = &httputil.ReverseProxy{Transport: o.Broker, FlushInterval: -1, Rewrite: toBroker,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			refuse(w, http.StatusBadGateway, "the broker does not answer: "+err.Error())
		}}
	mux := http.NewServeMux()
	for _, op := range api.Operations() {
		if op.Path != "/v1/shutdown" { // a page that is left open must not end it
			mux.Handle(op.Method+" "+op.Path, d.proxied)
		}
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "no such request: "+r.Method+" "+r.URL.Path)
	})
	d.proxied, d.pages = mux, http.FileServerFS(o.Pages)
	return d
}

func randomText(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(api.Error{Text: text, Code: 1}) // the client has gone: nobody to tell
}

// toBroker makes of a request one to the broker. What says who asks is left out: the broker knows.
func toBroker(r *httputil.ProxyRequest) {
	base, _ := url.Parse(api.Base)
	r.SetURL(base)
	for _, name := range []string{"Cookie", "Origin", "Referer", "Authorization"} {
		r.Out.Header.Del(name)
	}
}

// Token is what opens the proxy once.
func (d *BrowserProxy) Token() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.token
}

// ServeHTTP implements http.Handler.
func (d *BrowserProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	switch {
	case !d.knowsHost(r.Host):
		refuse(w, http.StatusMisdirectedRequest, "this dashboard is not known as "+r.Host+" (godwit dashboard --allow-host)")
	case !isSameOrigin(r):
		refuse(w, http.StatusForbidden, "asked from another page: "+r.Header.Get("Origin"))
	case r.URL.Path == "/session" && r.Method == http.MethodPost:
		d.openSession(w, r)
	case r.URL.Path != "/metrics" && !strings.HasPrefix(r.URL.Path, "/v1/"): // pages tell nothing
		h.Set("Cache-Control", "no-cache")
		d.pages.ServeHTTP(w, r)
	case !d.hasSession(r):
		refuse(w, http.StatusUnauthorized, "no token: open the address that godwit dashboard prints")
	default:
		d.proxied.ServeHTTP(w, r)
	}
}

// knowsHost refuses names that somebody else made point here.
func (d *BrowserProxy) knowsHost(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	return name == "localhost" || name == "127.0.0.1" || name == "::1" || slices.Contains(d.Hosts, name)
}

// isSameOrigin refuses what pages from elsewhere ask for.
func isSameOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		isLink := r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate"
		return isLink && !strings.HasPrefix(r.URL.Path, "/v1/") && r.URL.Path != "/metrics"
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	from, err := url.Parse(origin)
	return err == nil && from.Host == r.Host && (from.Scheme == "http" || from.Scheme == "https")
}

// maxTokenText bounds what is read of who wants a session.
const maxTokenText = 1 << 10

// openSession takes a token, which opens nothing any more then, and gives a cookie.
func (d *BrowserProxy) openSession(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Token string `json:"token"`
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, maxTokenText))
	if err != nil || json.Unmarshal(data, &asked) != nil {
		refuse(w, http.StatusBadRequest, `token: want {"token": "…"}`)
		return
	}
	d.mu.Lock()
	isRight := subtle.ConstantTimeCompare([]byte(asked.Token), []byte(d.token)) == 1
	session, next := randomText(32), randomText(16)
	if isRight {
		d.token = next
		d.sessions = append(d.sessions, session)
	}
	d.mu.Unlock()
	if !isRight {
		refuse(w, http.StatusUnauthorized, "this token is wrong, or was used before: godwit dashboard has printed another one")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: d.cookie, Value: session, Path: "/", HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
	w.WriteHeader(http.StatusNoContent)
	if d.Used != nil {
		d.Used(next)
	}
}

func (d *BrowserProxy) hasSession(r *http.Request) bool {
	c, err := r.Cookie(d.cookie)
	if err != nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	has := false
	for _, s := range d.sessions {
		has = subtle.ConstantTimeCompare([]byte(s), []byte(c.Value)) == 1 || has
	}
	return has
}
