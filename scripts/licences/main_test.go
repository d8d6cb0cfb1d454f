package main

import (
	"os"
	"strings"
	"testing"
)

// Licences ask that their text comes with the binaries.
func TestTheLicenceOfEveryModuleIsShipped(t *testing.T) {
	t.Chdir("../..")
	text, err := os.ReadFile("THIRD_PARTY_LICENCES")
	if err != nil {
		t.Fatal(err)
	}
	modules, err := shippedModules()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range modules {
		if name := strings.TrimSpace(m.path + " " + m.version); !strings.Contains(string(text), "\n"+name+"\n") {
			t.Errorf("%s is not in THIRD_PARTY_LICENCES: go run ./scripts/licences >THIRD_PARTY_LICENCES", name)
		}
		if _, err := licenceText(m.dir); err != nil {
			t.Errorf("%s: %v", m.path, err)
		}
	}
}
