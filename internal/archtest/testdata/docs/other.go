//as internal/sched/core

// Package corex is called something else.
package core // want `no doc comment`
