// Package lazyregexp is regular expressions that are compiled when they are first
// used. Every agent is a start of the whole program, and what is compiled before
// main begins, all agents of all jobs pay for.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is an expression that is compiled at its first use.
type Regexp struct {
	text string
	once sync.Once
	re   *regexp.Regexp
}

// New is the expression text, which must be correct: the first use panics if it
// is not.
func New(text string) *Regexp { return &Regexp{text: text} }

// CompiledRegexp is the expression, compiled.
func (r *Regexp) CompiledRegexp() *regexp.Regexp {
	r.once.Do(func() { r.re = regexp.MustCompile(r.text) })
	return r.re
}

// MatchString reports whether s matches.
func (r *Regexp) MatchString(s string) bool { return r.CompiledRegexp().MatchString(s) }

// FindStringSubmatch is the first match in s and its parts.
func (r *Regexp) FindStringSubmatch(s string) []string {
	return r.CompiledRegexp().FindStringSubmatch(s)
}

// ReplaceAllString is s with all matches replaced.
func (r *Regexp) ReplaceAllString(s, by string) string {
	return r.CompiledRegexp().ReplaceAllString(s, by)
}
