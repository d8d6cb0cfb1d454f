// Command licences writes the licences of everything that godwit and godwit-sandbox consist of to
// standard output: what THIRD_PARTY_LICENCES holds. Run it in the root of the repository
// when a dependency has changed:
//
//	go run ./scripts/licences >THIRD_PARTY_LICENCES
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	out := bufio.NewWriter(os.Stdout)
	if err := errors.Join(writeLicences(out), out.Flush()); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

// module is one of which a binary has packages.
type module struct{ path, version, dir string }

func writeLicences(w *bufio.Writer) error {
	modules, err := shippedModules()
	if err != nil {
		return err
	}
	// Most modules have one of a few texts; each is printed once.
	var texts []string
	users := map[string][]string{}
	for _, m := range modules {
		text, err := licenceText(m.dir)
		if err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
		if users[text] == nil {
			texts = append(texts, text)
		}
		users[text] = append(users[text], strings.TrimSpace(m.path+" "+m.version))
	}
	fmt.Fprint(w, "The programs godwit and godwit-sandbox contain the following modules, under these licences.\n")
	for _, text := range texts {
		fmt.Fprintf(w, "\n%[1]s\n%[2]s\n%[1]s\n\n%[3]s", strings.Repeat("=", 80), strings.Join(users[text], "\n"), text)
	}
	pages, err := os.ReadFile("web/LICENCES") // of what the pages of the dashboard are bundled with
	if err != nil {
		return err
	}
	_, err = w.Write(pages)
	return err
}

// shippedModules lists the modules of both binaries, the standard library first.
func shippedModules() ([]module, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	list := []module{{path: "Go standard library", dir: strings.TrimSpace(string(root))}}
	for _, where := range [][]string{{".", "./cmd/godwit"}, {"sandbox", "."}} {
		cmd := exec.Command("go", "-C", where[0], "list", "-deps", "-f",
			"{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}", where[1])
		cmd.Env, cmd.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, err
		}
		for line := range bytes.Lines(out) {
			f := strings.Split(strings.TrimSpace(string(line)), "\t")
			if len(f) == 3 && !slices.Contains(list, module{f[0], f[1], f[2]}) {
				list = append(list, module{f[0], f[1], f[2]})
			}
		}
	}
	slices.SortFunc(list[1:], func(a, b module) int { return strings.Compare(a.path+" "+a.version, b.path+" "+b.version) })
	return list, nil
}

// isLicence reports whether a file of this name states a licence, or what has to be said
// with it.
func isLicence(name string) bool {
	name = strings.ToLower(name)
	for _, begin := range []string{"license", "licence", "copying", "notice", "patents"} {
		if rest, ok := strings.CutPrefix(name, begin); ok && (rest == "" || strings.ContainsAny(rest[:1], "-.")) {
			return true
		}
	}
	return false
}

// licenceText is all that a module says about its licence.
func licenceText(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, e := range entries {
		if e.IsDir() || !isLicence(e.Name()) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "%s\n", bytes.TrimSpace(data))
	}
	if text.Len() == 0 {
		return "", errors.New("it has no file with a licence")
	}
	return text.String(), nil
}
