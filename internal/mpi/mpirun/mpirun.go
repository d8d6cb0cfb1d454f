// Package mpirun is what MPI programs need that are started by a command of ours: the
// files that go with them, where their hosts find those, and the settings without
// which Open MPI refuses to run them. It must not know what the programs are for.
package mpirun

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/mpi/capture"
	"github.com/godwit-hpc/godwit/mpi/yield"
)

// CaptureLibrary is the path of the library that captures.
func CaptureLibrary() (string, error) {
	return placeFile("godwit-capture", ".so", capture.LibraryBytes())
}

// SkeletonRunner is the path of the program that runs skeletons.
func SkeletonRunner() (string, error) { return placeFile("godwit-skeleton", "", capture.RunnerBytes()) }

// YieldLibrary is the path of the library that lets waiting ranks sleep, or "" if there is
// none.
func YieldLibrary() string {
	path, err := placeFile("godwit-yield", ".so", yield.LibraryBytes())
	if err != nil {
		return "" // they will wait awake
	}
	return path
}

// placeFile puts a file that this program carries along where other hosts are likely to
// see it too: beside this program, or else among what the user's programs keep.
func placeFile(name, ending string, data []byte) (string, error) {
	if data == nil {
		return "", fmt.Errorf("this godwit carries no %s: it was built without mpicc (make deps; make build)", name)
	}
	sum := sha256.Sum256(data)
	name += "-" + hex.EncodeToString(sum[:6]) + ending
	var places []string
	if self, err := os.Executable(); err == nil {
		places = append(places, filepath.Dir(self))
	}
	if dir, err := os.UserCacheDir(); err == nil {
		places = append(places, filepath.Join(dir, "godwit"))
	}
	err := errors.New("there is no place for " + name)
	for _, dir := range places {
		path := filepath.Join(dir, name)
		if strings.ContainsAny(path, " :,") { // which the loader would take for two
			continue
		}
		if _, err = os.Stat(path); err == nil {
			return path, nil
		}
		if err = putFile(path, data); err == nil {
			return path, nil
		}
	}
	return "", err
}

// putFile writes a file that appears when it is whole.
func putFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), partPrefix)
	if err != nil {
		return err
	}
	removeLeft(f)
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o755), f.Close()) // a program, for whoever runs it
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // it is not whole
	}
	return err
}

// partPrefix begins the names of files that are not whole yet.
const partPrefix = ".godwit-mpi-"

// toWrite is longer than anybody takes to write such a file.
const toWrite = time.Hour

// removeLeft removes from the folder of a new file what those left that were killed
// while they wrote one. What cannot be removed harms nobody.
func removeLeft(made *os.File) {
	now, err := made.Stat() // by the clock of whoever keeps the files
	if err != nil {
		return
	}
	dir := filepath.Dir(made.Name())
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), partPrefix) {
			continue
		}
		if info, err := e.Info(); err == nil && now.ModTime().Sub(info.ModTime()) > toWrite {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// SessionVariable names the folder for what an mpirun and its ranks share on a host. It is
// "" in an environment with a folder for temporary files of its own, which is respected:
// hosts may share it, and Open MPI then makes a folder for each of them.
func SessionVariable(env []string) string {
	if slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "TMPDIR=") }) {
		return ""
	}
	return "OMPI_MCA_orte_top_session_dir"
}

// SessionFolder is a folder for one mpirun alone, which it makes and removes. The one that
// Open MPI 4 takes by itself is that of all mpiruns of a user on a host: the last that ends
// removes it, and one that begins just then finds it there, then gone, and fails.
func SessionFolder() string { return "/tmp/godwit-mpi-" + rand.Text()[:12] }

// RunEnvironment adds to variables what Open MPI wants to be told; what the user set
// stays.
func RunEnvironment(env []string) []string {
	want := []string{
		"OMPI_MCA_rmaps_base_oversubscribe=1",       // more ranks than processors are no mistake
		"OMPI_MCA_btl_base_warn_component_unused=0", // nor are hosts without InfiniBand
		"OMPI_MCA_orte_base_help_aggregate=1",       // one line is enough
		"OMPI_MCA_mca_base_component_show_load_errors=0",
	}
	if v := SessionVariable(env); v != "" {
		want = append(want, v+"="+SessionFolder())
	}
	if os.Geteuid() == 0 {
		want = append(want, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	}
	env = slices.Clone(env)
	for _, v := range want {
		name, _, _ := strings.Cut(v, "=")
		if !slices.ContainsFunc(env, func(have string) bool { return strings.HasPrefix(have, name+"=") }) {
			env = append(env, v)
		}
	}
	return env
}
