//as internal/sched/core

package core

import (
	"errors"
	"fmt"
	"strings"
)

// What Go cannot declare as a constant.
var (
	ErrFull        = errors.New("full")
	errEmpty       = fmt.Errorf("empty: %w", ErrFull)
	names          = [...]string{"a", "b"}
	codes          = map[string]int{"a": 1}
	rows           = []struct{ n int }{{1}, {2}}
	_        error = errEmpty
)

var counter int // want `declares the variable counter: .* no state`

var (
	seed    = 7                            // want `declares the variable seed`
	builder strings.Builder                // want `declares the variable builder`
	shared  = &struct{ n int }{}           // want `declares the variable shared`
	later   = make(map[string]int)         // want `declares the variable later`
	hook    = func() {}                    // want `declares the variable hook`
	a, b    = pair()                       // want `declares the variable`
	wrong   = errors.New("not called err") // want `declares the variable wrong`
)

func pair() (int, int) { return 1, 2 }

type table struct{ n int }

func (t *table) set(n int) { t.n = n }
func (t table) get() int   { return t.n }

var fixed = table{1}

func writes() {
	names[0] = "c"               // want `assigns to the package variable names: .* written once`
	codes["b"]++                 // want `assigns to the package variable codes`
	rows[1].n = 3                // want `assigns to the package variable rows`
	ErrFull = nil                // want `assigns to the package variable ErrFull`
	delete(codes, "a")           // want `calls delete on the package variable codes`
	clear(rows)                  // want `calls clear on the package variable rows`
	_ = &rows[0]                 // want `takes the address of the package variable rows`
	for names[1] = range codes { // want `assigns to the package variable names`
	}
	fixed.set(2) // want `calls set on the address of the package variable fixed`
}

func reads() int {
	names := []string{names[0]}
	names[0] = "local"
	n := fixed.get()
	for i := range rows {
		n += rows[i].n + codes[names[0]]
	}
	return n
}
