package conduct

import "math"

// An Outlook is when the workflow will be done, by the plan, with a band that holds
// it nine times in ten if the models are no worse than they were so far.
type Outlook struct{ End, Early, Late float64 }

// Outlook is how things stand now.
func (c *Conductor) Outlook(now float64) Outlook {
	if c.plan == nil || c.left == 0 {
		return Outlook{now, now, now}
	}
	end := now
	work := make([]float64, c.model.kinds) // left, of each kind
	count := make([]float64, c.model.kinds)
	total := 0.0
	for t := range c.task {
		kind := c.d.Tasks[t].Kind
		switch c.task[t].state {
		case waits:
			end = max(end, c.plan.Slots[t].End)
			w := c.grid.HostRuntime(&c.d.Tasks[t], c.plan.Slots[t].Host)
			work[kind], total = work[kind]+w, total+w
			count[kind]++
		case sent, running:
			e := c.expectedEnd(now, t)
			end = max(end, e)
			work[kind], total = work[kind]+e-now, total+e-now
			count[kind]++
		}
	}
	if total == 0 {
		return Outlook{end, end, end}
	}
	// Single tasks differ, and even out along a core; a wrong mean does not.
	var variance float64
	for k := range work {
		if count[k] == 0 {
			continue
		}
		each, mean := c.model.kindSpread(k)
		part := work[k] / total
		along := max(1, count[k]/float64(len(c.cores)))
		variance += part * part * (mean*mean + each*each/along)
	}
	const ninety = 1.645
	far := math.Exp(ninety * math.Sqrt(variance))
	return Outlook{end, now + (end-now)/far, now + (end-now)*far}
}
