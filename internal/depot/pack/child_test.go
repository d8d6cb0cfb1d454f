package pack_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/depottest"
	"github.com/godwit-hpc/godwit/internal/depot/pack"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
)

// childFlag as first argument makes the test binary a process of its own that
// uses a depot, to be killed.
const childFlag = "-depot-child"

func child(args []string) {
	var err error
	switch args[0] {
	case "churn":
		err = churn(args[1], args[2], args[3:])
	case "fill":
		err = fill(args[1])
	default:
		err = fmt.Errorf("no such child: %s", args[0])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func childCommand(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{childFlag}, args...)...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// churn puts trees for ever, tells each one that is durable, and collects all
// but the last three that it told.
func churn(dir, seed string, roots []string) error {
	n, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(n, 1))
	s, err := pack.Open(dir)
	if err != nil {
		return err
	}
	ctx := context.Background()
	for {
		var folder tree.Tree
		for i := range 1 + r.IntN(4) {
			// Some chunks come again and again.
			plain := depottest.RandomBytes(r.Uint64N(30), 1+r.IntN(20_000))
			id := chunk.IDOf(plain)
			missing, err := s.MissingChunks(ctx, []chunk.ID{id})
			if err != nil {
				return err
			}
			if len(missing) > 0 {
				if err := s.PutChunk(ctx, id, plain); err != nil {
					return err
				}
			}
			folder.Entries = append(folder.Entries,
				tree.Entry{Path: fmt.Sprint(i), Mode: 0o644, Size: int64(len(plain)), Chunks: []chunk.ID{id}})
		}
		b, err := tree.EncodeTree(&folder)
		if err != nil {
			return err
		}
		if err := errors.Join(s.PutChunk(ctx, chunk.IDOf(b), b), s.SyncChunks(ctx)); err != nil {
			return err
		}
		roots = append(roots, string(chunk.IDOf(b)))
		if _, err := fmt.Println(chunk.IDOf(b)); err != nil {
			return err
		}
		roots = roots[max(0, len(roots)-3):]
		if r.IntN(4) == 0 {
			ids := make([]chunk.ID, len(roots))
			for i, root := range roots {
				ids[i] = chunk.ID(root)
			}
			if _, err := s.CollectGarbage(ctx, ids, 0); err != nil {
				return err
			}
		}
	}
}

func TestAProcessKilledAtAnyMomentLosesNothingThatWasDurable(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(11, 12))
	var roots []string
	told := 0
	for round := range 25 {
		cmd := childCommand(t, append([]string{"churn", dir, fmt.Sprint(round)}, roots...)...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// Killed some time after it told so many, however slow the machine is.
		enough := 1 + r.IntN(8)
		lines := bufio.NewScanner(out)
		for seen := 0; lines.Scan(); seen++ {
			roots = append(roots, lines.Text())
			told++
			if seen == enough {
				go func(pause time.Duration) {
					time.Sleep(pause)
					cmd.Process.Kill()
				}(time.Duration(r.IntN(3000)) * time.Microsecond)
			}
		}
		if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("round %d: the child ended by itself: %v", round, err)
		}
		roots = roots[max(0, len(roots)-3):]
		s, err := pack.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range roots {
			if err := depot.VerifyTree(t.Context(), s, chunk.ID(id)); err != nil {
				t.Errorf("round %d: %v", round, err)
			}
		}
		// What is said to be there is there and sound.
		for i := range uint64(30) {
			for _, size := range []int{1, 100} {
				id := chunk.IDOf(depottest.RandomBytes(i, size))
				missing, err := s.MissingChunks(t.Context(), []chunk.ID{id})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.GetChunk(t.Context(), id); (err == nil) != (len(missing) == 0) {
					t.Errorf("round %d: %v missing, getting it: %v", round, missing, err)
				}
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if told < 50 {
		t.Errorf("only %d trees were put in all", told)
	}
	if n := len(packsOf(t, dir)); n > 10 {
		t.Errorf("%d packs were left behind", n)
	}
}

// fill fills a small disk and checks what a store does then.
func fill(dir string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=3m"); err != nil {
		return fmt.Errorf("mounting a small disk: %w", err)
	}
	s, err := pack.Open(filepath.Join(dir, "depot"))
	if err != nil {
		return err
	}
	defer s.Close()
	ctx := context.Background()
	n := uint64(0)
	for ; ; n++ {
		plain := depottest.RandomBytes(n, 100_000)
		if err = s.PutChunk(ctx, chunk.IDOf(plain), plain); err != nil {
			break
		}
		if err = s.SyncChunks(ctx); err != nil {
			break
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("on a full disk: %w, want %w", err, syscall.ENOSPC)
	}
	if n < 10 {
		return fmt.Errorf("the disk is full after %d chunks", n)
	}
	check := func() error {
		again, err := pack.Open(filepath.Join(dir, "depot"))
		if err != nil {
			return err
		}
		defer again.Close()
		for i := range n {
			if _, err := again.GetChunk(ctx, chunk.IDOf(depottest.RandomBytes(i, 100_000))); err != nil {
				return fmt.Errorf("after the disk was full: %w", err)
			}
		}
		return nil
	}
	if err := check(); err != nil {
		return err
	}
	// Collecting makes room even now.
	c, err := s.CollectGarbage(ctx, nil, 0)
	if err != nil {
		return fmt.Errorf("collecting on a full disk: %w", err)
	}
	if c.Bytes < 1_000_000 {
		return fmt.Errorf("collecting on a full disk freed %d bytes", c.Bytes)
	}
	plain := depottest.RandomBytes(1<<40, 100_000)
	if err := errors.Join(s.PutChunk(ctx, chunk.IDOf(plain), plain), s.SyncChunks(ctx)); err != nil {
		return fmt.Errorf("after room was made: %w", err)
	}
	return nil
}

func TestAStoreOnADiskThatFillsUpStaysSound(t *testing.T) {
	cmd := childCommand(t, "fill", t.TempDir())
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNS
	if !isRoot() {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	var text strings.Builder
	cmd.Stderr = &text
	err := cmd.Run()
	if errors.Is(err, fs.ErrPermission) && !isRoot() {
		return // no mounts for us here; TestAFullDiskIsToldAndTheStoreStaysSound covers the same with a disk of its own
	}
	if err != nil {
		t.Errorf("%v: %s", err, text.String())
	}
}
