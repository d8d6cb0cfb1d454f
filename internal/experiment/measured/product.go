package measured

import (
	"fmt"
	"os"
	"path/filepath"
)

// FindGodwit is the program godwit that lies beside this one: what is measured is the
// program that users have.
func FindGodwit() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return findBeside(self)
}

// findBeside is the program godwit in the folder of another one.
func findBeside(program string) (string, error) {
	path := filepath.Join(filepath.Dir(program), "godwit")
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not there: the experiment needs it beside %s (make godwit builds it)", path,
			filepath.Base(program))
	}
	return path, nil
}
