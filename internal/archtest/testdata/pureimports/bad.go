//as internal/sched/core

package core

import (
	_ "context"     // want `imports "context": .* one thread`
	_ "crypto/rand" // want `seed`
	_ "crypto/sha256"
	_ "database/sql" // want `no I/O`
	_ "errors"
	_ "fmt"
	_ "hash/maphash" // want `seed`
	_ "io"
	_ "io/fs"    // want `no I/O`
	_ "log"      // want `no I/O`
	_ "log/slog" // want `no I/O`
	_ "maps"
	_ "math"
	_ "math/rand" // want `seed`
	_ "math/rand/v2"
	_ "net"           // want `no I/O`
	_ "net/http"      // want `imports "net/http": .* no I/O`
	_ "os"            // want `imports "os": .* no I/O`
	_ "os/exec"       // want `no I/O`
	_ "reflect"       // want `reflection`
	_ "runtime"       // want `machine`
	_ "runtime/debug" // want `machine`
	_ "sort"
	_ "sync"        // want `one thread`
	_ "sync/atomic" // want `one thread`
	_ "syscall"     // want `no I/O`
	_ "testing"     // want `_test.go`
	_ "time"
	_ "unsafe" // want `machine`

	_ "go.yaml.in/yaml/v3"      // want `imports "go.yaml.in/yaml/v3": .* standard library`
	_ "gonum.org/v1/gonum/stat" // want `standard library`

	_ "github.com/godwit-hpc/godwit/internal/sched/world"
)
