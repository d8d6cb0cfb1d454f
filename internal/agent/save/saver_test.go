package save

import (
	"strings"
	"testing"
)

func TestAnImageThatWillNotFitIsNotBegun(t *testing.T) {
	s := &Saver{FreeSpace: func(string) (int64, error) { return 100 << 20, nil }, Scratch: "/s", Size: 90 << 20}
	if err := s.hasRoom(); err == nil || !strings.Contains(err.Error(), "90 MB") {
		t.Errorf("90 MB, and the disk has 100: %v", err)
	}
	s.Size = 10 << 20
	if err := s.hasRoom(); err != nil {
		t.Error(err)
	}
	if n, err := FreeSpace(t.TempDir()); err != nil || n <= 0 {
		t.Errorf("free: %v, %v", n, err)
	}
}
