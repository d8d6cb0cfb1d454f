package agent

import (
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/godwit-hpc/godwit/internal/agent/parallel"
	"github.com/godwit-hpc/godwit/internal/host/account"
)

// accountEnvironment is our environment with the variables of the account that we run
// as, where it has those of another: a manager may start its jobs with what it was
// started with itself.
func accountEnvironment(env []string,
	who func() (*account.User, error), owner func(dir string) (uint32, bool)) []string {
	home := parallel.VariableValue(env, "HOME")
	if id, ok := owner(home); ok && id == uint32(os.Geteuid()) {
		return env
	}
	u, err := who()
	if err != nil || u.Home == "" {
		return env
	}
	set := map[string]string{"HOME": u.Home, "USER": u.Name, "LOGNAME": u.Name, "SHELL": u.Shell}
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		_, ok := set[name]
		return ok
	})
	return append(env, sortedEnv(set)...)
}

// ownEnvironment is accountEnvironment of this process.
func ownEnvironment() []string {
	return accountEnvironment(os.Environ(), func() (*account.User, error) {
		return new(account.Table).AccountOf(uint32(os.Geteuid()))
	}, ownerOf)
}

// ownerOf is whom a folder belongs to; false if it is not there.
func ownerOf(dir string) (uint32, bool) {
	info, err := os.Stat(dir)
	if err != nil {
		return 0, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return st.Uid, true
}

// setEnvironment is an environment with further variables, which replace those of the
// same name.
func setEnvironment(env, more []string) []string {
	if len(more) == 0 {
		return env
	}
	named := map[string]bool{}
	for _, v := range more {
		name, _, _ := strings.Cut(v, "=")
		named[name] = true
	}
	kept := slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return named[name]
	})
	return append(kept, more...)
}
