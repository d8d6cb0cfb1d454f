package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/live/dashboard"
	"github.com/godwit-hpc/godwit/web"
)

const dashboardLong = `Shows jobs, clusters and what was decided in a browser, until Ctrl-C. It listens on this
machine alone, at an address with a token that opens it once; the token of the next
browser is printed when one was used.

The browser sees and does what you may with the other commands: it is asked through
your own connection to the broker. Over SSH the command says how to reach it from the
machine before you.`

type dashboardFlags struct {
	output string
	print  bool
	port   int
	hosts  []string
}

func (a *app) dashboardCommand() *cobra.Command {
	var f dashboardFlags
	cmd := &cobra.Command{
		Use:   "dashboard",
		Short: "Show jobs and clusters in a browser",
		Long:  dashboardLong,
		Example: `  godwit dashboard
  godwit dashboard --print --port 8400
  # behind a proxy that is known by another name
  godwit dashboard --print --allow-host ondemand.example.org`,
		Args: term.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runDashboard(cmd.Context(), &f) },
	}
	g := term.NewGroup("Dashboard")
	g.Flags.BoolVar(&f.print, "print", false, "print the address and open no browser")
	g.Flags.IntVar(&f.port, "port", 0, "listen on port `N` rather than on one that is free")
	g.Flags.StringSliceVar(&f.hosts, "allow-host", nil, "also answer as `NAME`, of a proxy before it")
	term.GroupFlags(cmd, g, term.OutputGroup(&f.output))
	return cmd
}

// openedDashboard is where a dashboard is, as JSON.
type openedDashboard struct {
	URL string `json:"url"`
	SSH string `json:"ssh,omitempty"` // command that makes it reachable from elsewhere
}

func (a *app) runDashboard(ctx context.Context, f *dashboardFlags) error {
	if f.port < 0 || f.port > 65535 {
		return &badinput.Error{Field: "--port", Value: strconv.Itoa(f.port), Want: "a number from 0 to 65535"}
	}
	c, err := a.ConnectBroker(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(f.port)))
	if err != nil {
		return &badinput.Error{Field: "--port", Value: strconv.Itoa(f.port), Want: "a port that is free", Err: err}
	}
	port := l.Addr().(*net.TCPAddr).Port
	address := func(token string) string { return fmt.Sprintf("http://localhost:%d/#token=%s", port, token) }
	proxy := dashboard.NewBrowserProxy(dashboard.Options{Broker: c.HTTP.Transport, Pages: web.Pages(), Hosts: f.hosts,
		Used: func(next string) { a.SayLine("opened; the address for another browser: " + address(next)) }})
	if err := a.tellDashboard(f, address(proxy.Token()), port); err != nil {
		return err
	}
	return serveDashboard(ctx, l, proxy)
}

func serveDashboard(ctx context.Context, l net.Listener, proxy http.Handler) error {
	srv := &http.Server{Handler: proxy, ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// tellDashboard says where the dashboard is, and opens it where there is a browser.
func (a *app) tellDashboard(f *dashboardFlags, address string, port int) error {
	at := openedDashboard{URL: address}
	if os.Getenv("SSH_CONNECTION") != "" {
		at.SSH = fmt.Sprintf("ssh -N -L %d:localhost:%d %s", port, port, loginName())
	}
	if f.output == "json" {
		return term.WriteJSON(a.Stdout, at)
	}
	if _, err := fmt.Fprintln(a.Stdout, at.URL); err != nil {
		return err
	}
	switch {
	case at.SSH != "":
		a.SayLine("from your machine: " + at.SSH)
	case !f.print && (os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""):
		if err := exec.Command("xdg-open", at.URL).Start(); err != nil {
			a.SayLine("no browser could be opened: " + err.Error())
		}
	}
	return nil
}

// loginName is how this machine is named to who logs in.
func loginName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "this-machine"
	}
	if u, err := user.Current(); err == nil {
		return u.Username + "@" + host
	}
	return host
}
