package munge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/lab/munge"
	"github.com/godwit-hpc/godwit/internal/lab/place"
	"github.com/godwit-hpc/godwit/internal/lab/place/placetest"
)

func TestOneHostBelievesWhatAnotherSaysOfAUser(t *testing.T) {
	hosts := placetest.Start(t, 2)
	m := munge.New(hosts.Dir+"/munge", hosts.Head)
	if err := m.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	out, err := hosts.Nodes[0].CommandAs(t.Context(), hosts.User, "munge", "-n", "-S", m.SocketPath()).Output()
	if err != nil {
		t.Fatal(err)
	}
	who := fmt.Sprintf("%s (%d)", hosts.User.Name, hosts.User.UID)
	decode := func() (string, error) {
		return place.CommandOutput(t.Context(), hosts.Nodes[1], "sh", "-c", `echo "$1" | unmunge -S "$2"`, "sh",
			strings.TrimSpace(string(out)), m.SocketPath())
	}
	if text, err := decode(); err != nil || !strings.Contains(text, who) {
		t.Errorf("the other host sees %q: %v", text, err)
	}
	// It comes back after a crash, with the key that it had.
	if _, err := place.CommandOutput(t.Context(), hosts.Head, "sh", "-c", "kill -9 $(cat "+hosts.Dir+
		"/munge/munged.pid)"); err != nil {
		t.Fatal(err)
	}
	for down := []string(nil); len(down) == 0; {
		if down, err = m.ListDown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text, err := decode(); err != nil || !strings.Contains(text, who) {
		t.Errorf("after a crash the other host sees %q: %v", text, err)
	}
	if err := m.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if down, err := m.ListDown(t.Context()); len(down) != 1 || err != nil {
		t.Errorf("stopped, down are %v: %v", down, err)
	}
}
