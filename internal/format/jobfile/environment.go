package jobfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Export says how much of the environment of who submits goes along to accounts that
// are not the same account on the same site.
type Export string

const (
	ExportNamed Export = ""    // the variables that the job names
	ExportAll   Export = "all" // all but those that describe the account
)

var exportNames = []string{"named", "all"}

func parseExport(s string) (Export, error) {
	switch s {
	case "named":
		return ExportNamed, nil
	case "all":
		return ExportAll, nil
	}
	return "", fmt.Errorf("one of %s", strings.Join(exportNames, ", "))
}

// inheritEnvironment gives the job the environment of the caller, as far as it goes along.
func (d *Draft) inheritEnvironment(skip func(name string) bool) {
	for _, entry := range d.opt.Environ {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || !isInherited(name) || skip != nil && skip(name) {
			continue
		}
		if !utf8.ValidString(value) { // a job is stored and sent as JSON, which would change it
			d.Warnings = append(d.Warnings, Warning{d.at[""].File, 0, name,
				"not passed to the job: the variable's value is not valid UTF-8"})
			continue
		}
		if d.Caller == nil {
			d.Caller = map[string]string{}
		}
		d.Caller[name] = value
	}
}

// accountVariables describe an account on a machine: elsewhere they are others.
var accountVariables = []string{"HOME", "USER", "LOGNAME", "SHELL", "PATH", "MAIL", "TMPDIR", "TEMP", "TMP", "HOSTNAME",
	"LD_LIBRARY_PATH", "LD_PRELOAD", "MANPATH", "INFOPATH", "PKG_CONFIG_PATH"}

// everywhere are the beginnings of variables that mean the same everywhere.
var everywhere = []string{"LANG", "LC_", "TZ"}

// Environment is what the job sets where it runs. With the account of who submitted it, at
// the same site, that is the environment of its caller; with another account it is what the
// job names, and as much more as Export says: what describes the caller's account would be
// wrong there, and the rest may be secret.
func (j *Job) Environment(sameAccount bool) map[string]string {
	env := map[string]string{}
	for name, value := range j.Caller {
		if sameAccount || goesElsewhere(name, j.Export) {
			env[name] = value
		}
	}
	maps.Copy(env, j.Env)
	if len(env) == 0 {
		return nil
	}
	return env
}

func goesElsewhere(name string, e Export) bool {
	if e == ExportAll {
		return !slices.Contains(accountVariables, name)
	}
	return slices.ContainsFunc(everywhere, func(p string) bool { return strings.HasPrefix(name, p) })
}
