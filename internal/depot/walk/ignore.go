package walk

import (
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Ignorer decides what a push leaves out, by the rules of gitignore(5): the
// last pattern that fits decides, those of a deeper folder after those of a
// higher one; what lies in a folder that is left out cannot be brought back.
type Ignorer struct {
	dir    string
	files  bool   // read .gitignore and .godwitignore
	rules  []rule // of the caller; they come last
	loaded map[string][]rule
}

// rule is one pattern.
type rule struct {
	parts   []string // of the pattern; "**" is any number of folders
	negated bool     // brings back
	folder  bool     // fits folders only
}

// ignoreFiles are read in every folder, the later ones being stronger.
var ignoreFiles = []string{".gitignore", ".godwitignore"}

// NewIgnorer reads ignore files in dir if files is true, and adds patterns; nil if
// there is neither.
func NewIgnorer(dir string, files bool, patterns []string) *Ignorer {
	if !files && len(patterns) == 0 {
		return nil
	}
	g := &Ignorer{dir: dir, files: files, loaded: map[string][]rule{}}
	for _, line := range patterns {
		if r, ok := parseRule(line); ok {
			g.rules = append(g.rules, r)
		}
	}
	return g
}

// IsIgnored reports whether the entry is left out. Its folder is not.
func (g *Ignorer) IsIgnored(name string, isDir bool) bool {
	if fits, negated := lastRule(g.rules, name, isDir); fits {
		return !negated
	}
	if !g.files {
		return false
	}
	if path.Base(name) == ".git" {
		return true
	}
	for folder := path.Dir(name); ; folder = path.Dir(folder) {
		rel := name
		if folder != "." {
			rel = name[len(folder)+1:]
		}
		if fits, negated := lastRule(g.rulesOf(folder), rel, isDir); fits {
			return !negated
		}
		if folder == "." {
			return false
		}
	}
}

// rulesOf gives the rules that the files in a folder state.
func (g *Ignorer) rulesOf(folder string) []rule {
	rules, ok := g.loaded[folder]
	if ok {
		return rules
	}
	for _, name := range ignoreFiles {
		b, err := os.ReadFile(filepath.Join(g.dir, folder, name))
		if err != nil {
			continue // as git does: what cannot be read states nothing
		}
		for line := range strings.SplitSeq(string(b), "\n") {
			if r, ok := parseRule(line); ok {
				rules = append(rules, r)
			}
		}
	}
	g.loaded[folder] = rules
	return rules
}

// lastRule finds the last rule that fits.
func lastRule(rules []rule, name string, isDir bool) (fits, negated bool) {
	for i := len(rules) - 1; i >= 0; i-- {
		r := &rules[i]
		if (!r.folder || isDir) && matchParts(r.parts, strings.Split(name, "/")) {
			return true, r.negated
		}
	}
	return false, false
}

// parseRule reads one line of an ignore file.
func parseRule(line string) (rule, bool) {
	line = strings.TrimSuffix(line, "\r")
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if line == "" || line[0] == '#' {
		return rule{}, false
	}
	var r rule
	if line[0] == '!' {
		r.negated = true
		line = line[1:]
	}
	if strings.HasSuffix(line, "/") {
		r.folder = true
		line = strings.TrimSuffix(line, "/")
	}
	if line == "" {
		return rule{}, false
	}
	anchored := strings.Contains(line, "/")
	r.parts = strings.Split(strings.TrimPrefix(line, "/"), "/")
	if !anchored {
		r.parts = append([]string{"**"}, r.parts...)
	}
	for i, p := range r.parts {
		// path.Match writes a negated class with ^, git with either.
		r.parts[i] = strings.ReplaceAll(p, "[!", "[^")
	}
	return r, true
}

// matchParts fits a pattern to a path, both split at slashes.
func matchParts(pattern, name []string) bool {
	// Going back to the last ** alone is enough: an earlier one could not do
	// better. So the time is bounded by the product of the lengths.
	back, from := -1, 0
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			if p == len(pattern)-1 {
				return true // all that is inside
			}
			back, from = p, n
			p++
		case p < len(pattern) && matchPart(pattern[p], name[n]):
			p++
			n++
		case back >= 0:
			from++
			p, n = back+1, from
		default:
			return false
		}
	}
	return p == len(pattern)
}

func matchPart(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	if err != nil {
		return pattern == name // no pattern, then it is a name
	}
	return ok
}
