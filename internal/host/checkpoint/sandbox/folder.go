package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mustBeEmpty checks the folder that an image is to go into before anything
// stands still for it.
func mustBeEmpty(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("the folder for the image, %s, must be an absolute path", dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("looking at the folder for the image: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("the folder for the image, %s, is not empty", dir)
	}
	return nil
}

// emptyFolder removes what a failed save left in its folder. What cannot be removed
// is not an image: the record is written last.
func emptyFolder(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		_ = os.RemoveAll(filepath.Join(dir, e.Name()))
	}
}

// removeFolders takes the sandbox's folders away. Nothing is mounted in them: mounts
// are made where only the sandbox sees them.
func (c cell) removeFolders() {
	_ = os.RemoveAll(c.dir) // what is left goes with the attempt's folder
}

// lastWords is what the supervisor last complained about: of a panic its first line,
// not the end of its stack.
func (r *run) lastWords() string {
	text, err := os.ReadFile(r.cell.logFile())
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, line := range lines {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return line
		}
	}
	return lines[len(lines)-1]
}
