package outpost

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/local"
	"github.com/godwit-hpc/godwit/internal/host/calibrate"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint/sandbox"
	"github.com/godwit-hpc/godwit/internal/live/drivers"
)

// surveyor says what the cluster consists of: what its driver knows, and what
// this machine, which is one of its hosts or at least stands beside them, tells
// of its kind.
type surveyor struct {
	settings *driver.Settings
	driver   drivers.Driver
	place    workFolder
	host     string
	box      *equipment
	log      *slog.Logger

	mu    sync.Mutex
	known *kind
}

// kind is what is the same every time: what machine this is.
type kind struct {
	speed    float64
	features []string
	methods  []string
	notes    []string
}

func (s *surveyor) askSurvey(ctx context.Context) (*driver.Survey, error) {
	k, err := s.probeMachine(ctx)
	if err != nil {
		return nil, err
	}
	survey := new(driver.Survey)
	if d, ok := s.driver.(driver.Surveyor); ok {
		if survey, err = d.SurveyHosts(ctx); err != nil {
			return nil, err
		}
		whole := *survey // it may be the driver's own
		survey = &whole
	} else if survey.Hosts, err = s.localHosts(k); err != nil {
		return nil, err
	}
	s.addKnown(survey, k)
	return survey, nil
}

// localHosts is this machine as the only host.
func (s *surveyor) localHosts(k *kind) ([]driver.Host, error) {
	cpus, err := local.UsableCPUs()
	if err != nil {
		return nil, err
	}
	procs := s.settings.Slots
	if procs == 0 {
		procs = local.UsableProcessors(len(cpus))
	}
	return []driver.Host{{Name: s.host, Procs: procs, Free: procs, Memory: calibrate.TotalMemory(), Speed: k.speed}}, nil
}

// addKnown adds what the driver does not know. Hosts behind a manager need not be
// like this one: that is said.
func (s *surveyor) addKnown(v *driver.Survey, k *kind) {
	guessed := false
	hosts := append([]driver.Host(nil), v.Hosts...)
	for i := range hosts {
		if hosts[i].Speed == 0 && k.speed > 0 {
			hosts[i].Speed = k.speed
			guessed = true
		}
	}
	v.Hosts = hosts
	if v.CPUFeatures == nil && k.features != nil {
		v.CPUFeatures, guessed = k.features, true
	}
	if v.Methods == nil {
		v.Methods, guessed = k.methods, true
	}
	notes := append([]string(nil), v.Notes...)
	for _, n := range slices.Concat(s.driver.UserNotes(), k.notes) {
		if !slices.Contains(notes, n) {
			notes = append(notes, n)
		}
	}
	v.Notes = notes
	if guessed && s.settings.Kind != localKind {
		v.Notes = append(v.Notes, fmt.Sprintf("speed, CPU features and checkpoint methods are those of %s, from where jobs "+
			"are submitted; "+
			"the hosts that run them may differ", s.host))
	}
}

// probeMachine finds out what machine this is, once.
func (s *surveyor) probeMachine(ctx context.Context) (*kind, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known != nil {
		return s.known, nil
	}
	k := &kind{methods: []string{"signal", "exit85", "srs", "restart"}}
	s.box.waitSettled(ctx)
	if ok, why := sandbox.IsAvailable(ctx); ok {
		k.methods = append([]string{"sandbox"}, k.methods...)
		features, err := sandbox.CPUFeatures(ctx)
		if err != nil {
			s.log.Warn("the CPU's features are not known", "error", err)
		}
		k.features = features
	} else if ctx.Err() == nil {
		k.notes = append(k.notes, "programs cannot be saved in a sandbox on "+s.host+": "+oneLine(why))
	}
	cpus, err := local.UsableCPUs()
	if err == nil && len(cpus) > 0 {
		k.speed, err = calibrate.CachedSpeed(ctx, cpus[0], filepath.Join(s.place.dir, "speed.json"))
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err != nil {
		s.log.Warn("the speed is not known", "error", err)
	}
	s.known = k
	return k, nil
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
