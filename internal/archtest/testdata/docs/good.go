//as internal/sched/core

// Package core is documented.
package core
