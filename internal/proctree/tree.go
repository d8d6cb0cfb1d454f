package proctree

import (
	"context"
	"time"

	"github.com/godwit-hpc/godwit/internal/cgroup"
)

// BecomeSubreaper makes this process the parent of every orphan among its
// descendants and reaps those of them that belong to nobody else here. The
// agent calls it first thing; calling it again does nothing.
func BecomeSubreaper() error { return nil }

// Tree is all processes of one attempt, however many programs are started in it
// one after the other. Its methods may be called from several goroutines.
type Tree struct{ mark string }

// Of is the Tree of the attempt with that mark: always the same one in this
// process, until it is closed.
func Of(mark string) *Tree { return &Tree{mark: mark} }

// Close forgets the tree. It ends nothing.
func (t *Tree) Close() {}

// UseCgroup tells the tree that all its processes, and no others, are in that
// cgroup: what they use is then read from there, and they are ended through it.
func (t *Tree) UseCgroup(g *cgroup.Group) {}

// Adopt counts a process that something else in this process started, and waits
// for, as part of the tree, with all that it starts.
func (t *Tree) Adopt(pid int) error { return nil }

// Pids lists the processes of the tree that live, parents before children.
func (t *Tree) Pids() []int { return nil }

// Kill ends all processes of the tree: SIGTERM first and, to those that are left
// after the grace, SIGKILL. It returns when none is left, or else with an error
// that says which.
func (t *Tree) Kill(ctx context.Context, grace time.Duration) error { return nil }

// Stop makes all processes of the tree stand still (SIGSTOP), and returns when
// they do.
func (t *Tree) Stop(ctx context.Context) error { return nil }

// Continue lets stopped processes run on.
func (t *Tree) Continue() error { return nil }

// Usage is what the processes of a tree have used since its first one started,
// and what they hold now.
type Usage struct {
	CPU         time.Duration // user and system time of all, the dead included
	Memory      int64         // resident now
	Read        int64         // bytes read by system calls, from files, pipes and sockets
	Written     int64
	DiskRead    int64 // bytes that storage had to deliver
	DiskWritten int64
	Processes   int   // now
	Threads     int   // now
	Switches    int64 // voluntary context switches of those that live, looked up now and then
}

// Usage reads what the tree uses. CPU and bytes never go down.
func (t *Tree) Usage() Usage { return Usage{} }

// Leftovers lists the processes whose environment has the mark, whoever their
// parent is. This process is never among them.
func Leftovers(mark string) ([]int, error) { return nil, nil }

// KillLeftovers ends every process whose environment has the mark, and what
// those started, and returns how many there were once none is left.
func KillLeftovers(ctx context.Context, mark string) (int, error) { return 0, nil }
