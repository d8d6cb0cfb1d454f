package core

// Change is what the user of a job that has not ended wants to be otherwise. What is nil or empty stays as it is.
type Change struct {
	Deadline *Time  `json:"deadline,omitempty"` // 0: none any more
	Begin    *Time  `json:"begin,omitempty"`    // 0: it may begin at once
	Name     string `json:"name,omitempty"`
	// Labels are those that get a value, by their names; "" takes one away.
	Labels map[string]string `json:"labels,omitempty"`
	// Clusters is where it may run from now on; Anywhere: on all that there are.
	Clusters []ClusterID `json:"clusters,omitempty"`
	On       []string    `json:"on,omitempty"` // the clusters that its user names
	Anywhere bool        `json:"anywhere,omitempty"`
}

// ApplyTo is a job with the change made.
func (c *Change) ApplyTo(was *Job) *Job {
	spec := *was
	if c.Deadline != nil {
		spec.Deadline = *c.Deadline
	}
	if c.Begin != nil {
		spec.Begin = *c.Begin
	}
	if c.Name != "" {
		spec.Name = c.Name
	}
	if c.Anywhere || len(c.Clusters) > 0 {
		spec.Components = append([]Component(nil), was.Components...)
		for i := range spec.Components {
			spec.Components[i].Clusters = c.Clusters
		}
	}
	return &spec
}

// ChangeLabels gives labels the values that the change says. The map that it gets stays as it is.
func (c *Change) ChangeLabels(labels map[string]string) map[string]string {
	if len(c.Labels) == 0 {
		return labels
	}
	changed := map[string]string{}
	for name, value := range labels { // order-free: a map again
		changed[name] = value
	}
	for name, value := range c.Labels { // order-free: a map again
		if changed[name] = value; value == "" {
			delete(changed, name)
		}
	}
	return changed
}
