package nodes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"slices"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/experiment/measured"
	"github.com/godwit-hpc/godwit/internal/lab"
)

// user is whose programs run on the hosts.
const user = "alice"

// bed is the lab with what runs on it.
type bed struct {
	lab     *lab.Lab
	hosts   []*lab.Host
	names   []string
	home    string // of user, which all hosts see
	sensors *sensors
	streams *streams
}

// newBed makes the lab of a plan and brings programs there: godwit, and those that
// are in the folder apps.
func newBed(ctx context.Context, p *lab.Plan, apps string, programs []Program, say func(string)) (*bed, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	godwit, err := measured.FindGodwit()
	if err != nil {
		return nil, err
	}
	l, err := lab.CreateLab(ctx, p, lab.Options{Say: say})
	if err != nil {
		return nil, err
	}
	b := &bed{lab: l}
	for _, c := range l.Clusters {
		b.hosts = append(b.hosts, c.Hosts...)
	}
	for _, h := range b.hosts {
		b.names = append(b.names, h.Name)
	}
	u, err := l.FindUser(user)
	if err == nil {
		b.home = u.Home
		err = b.bringProgram(godwit, "godwit")
	}
	for _, p := range programs {
		err = errors.Join(err, b.bringProgram(filepath.Join(apps, p.Name), p.Name))
	}
	if err == nil {
		b.sensors, err = newSensors(ctx, b.hosts, []string{self, "sensor"})
	}
	if err != nil {
		b.closeLab()
		return nil, err
	}
	return b, nil
}

// closeLab removes the lab, also when we were interrupted.
func (b *bed) closeLab() {
	if b.sensors != nil {
		b.sensors.closeAll()
	}
	_ = lab.RemoveLab(context.Background(), b.lab.Name) // what is left of it the next lab of that name removes
}

// bringProgram copies a program to where the user has it.
func (b *bed) bringProgram(from, name string) error {
	in, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("the program %s: %w (make examples)", name, err)
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(filepath.Join(b.home, name), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// removeStreams takes all streams away: every pair has its way for itself.
func (b *bed) removeStreams(ctx context.Context) error {
	for u := range b.names {
		for v := range u {
			if err := b.lab.SetPair(ctx, b.names[v], b.names[u], wholeMbps); err != nil {
				return err
			}
		}
	}
	return nil
}

// applyStreams puts the streams of others on all ways.
func (b *bed) applyStreams(ctx context.Context, s *streams) error {
	b.streams = s
	for u := range b.names {
		for v := range u {
			if err := b.lab.SetPair(ctx, b.names[v], b.names[u], s.newcomerRate([2]int{v, u})); err != nil {
				return err
			}
		}
	}
	return nil
}

// changeStream lets one stream come or go.
func (b *bed) changeStream(ctx context.Context) error {
	pair, mbps := b.streams.changeOne()
	return b.lab.SetPair(ctx, b.names[pair[0]], b.names[pair[1]], mbps)
}

// runAsUser runs a command of the user on the lab's head and returns what it wrote.
func (b *bed) runAsUser(ctx context.Context, argv ...string) (string, error) {
	cmd := b.lab.Head.CommandAs(ctx, user, argv...)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(complaints.String()+out.String()))
	}
	return out.String(), nil
}

// tookText is how the programs say how long they took.
var tookText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`: right, ([0-9.]+) s\n`)
})

// runProgram runs a program on hosts, one rank on each in their order, and returns the
// seconds that it says it took.
func (b *bed) runProgram(ctx context.Context, p Program, hosts []string) (float64, error) {
	argv := slices.Concat(launchCommand(hosts),
		[]string{"-x", "LD_PRELOAD=" + filepath.Join(b.home, yieldName), "./" + p.Name}, p.Args)
	out, err := b.runAsUser(ctx, argv...)
	if err != nil {
		return 0, err
	}
	m := tookText().FindStringSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("%s on %s does not say that it is right: %s", p.Name, strings.Join(hosts, " "), out)
	}
	return strconv.ParseFloat(m[1], 64)
}
