//as internal/live/broker

package broker

import (
	"regexp"
	"sync"
)

var word = regexp.MustCompile(`^\w+$`) // want `calls regexp.MustCompile for a package variable: every agent`

var words = []struct{ re *regexp.Regexp }{
	{regexp.MustCompile(`a`)}, // want `calls regexp.MustCompile`
}

var late = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`b`) })

func use() bool { return regexp.MustCompile(`c`).MatchString("c") }
