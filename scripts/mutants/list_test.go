package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A change whose text is gone would only be noticed by whoever runs `make mutants`.
func TestEveryChangeStillFits(t *testing.T) {
	for _, m := range list {
		for _, e := range m.edits {
			text, err := os.ReadFile(filepath.Join("../..", e.file))
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(text), e.old); n != 1 {
				t.Errorf("%s: the text to be changed stands %d times in %s:\n%s", m.name, n, e.file, e.old)
			}
		}
	}
}
