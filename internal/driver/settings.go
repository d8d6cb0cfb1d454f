package driver

import "time"

// Settings are what a driver is made from, as they travel to where it runs:
// beside the broker or at the other end of an SSH connection. Each kind of
// driver uses its own of them.
type Settings struct {
	Cluster string        `json:"cluster"` // its name
	Kind    string        `json:"kind"`    // local, slurm, gridengine
	Dir     string        `json:"dir"`     // holds the folders of its attempts
	Sample  time.Duration `json:"sample,omitempty"`

	// Of a part of a machine.
	CPUs   []int   `json:"cpus,omitempty"`
	Slots  int     `json:"slots,omitempty"`
	Quota  float64 `json:"quota,omitempty"`
	Memory int64   `json:"memory,omitempty"`
	Nice   int     `json:"nice,omitempty"`
	Kin    string  `json:"kin,omitempty"` // part of the paths of folders where the same broker has attempts as other users

	// Of a batch system. There Dir is on a file system that all hosts share.
	Partition string            `json:"partition,omitempty"`
	PE        string            `json:"pe,omitempty"`
	Options   []string          `json:"options,omitempty"` // for sbatch or qsub, as they are
	Time      time.Duration     `json:"time,omitempty"`    // limit for jobs that name none
	Poll      time.Duration     `json:"poll,omitempty"`
	Env       map[string]string `json:"env,omitempty"` // for the manager's commands
	Commands  string            `json:"commands,omitempty"`
}
