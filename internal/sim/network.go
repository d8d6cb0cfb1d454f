package sim

import (
	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/platform"
	"github.com/godwit-hpc/godwit/internal/world"
)

type network struct{}

func newNetwork(p *platform.Platform, spec *world.Spec) *network { return &network{} }
func (n *network) next() core.Time                               { return core.Never }
func (n *network) advance(s *Simulator, t core.Time)             {}
func (n *network) cancel(s *Simulator, t *task)                  {}

func (s *Simulator) stage(t *task, c *core.Command) {
	s.tell(core.Input{Kind: core.Staged, Job: c.Job, Epoch: c.Epoch, Part: c.Part})
}
