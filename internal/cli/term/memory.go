package term

import (
	"os"
	"runtime/debug"
)

// FavourSpeed lets the heap grow to five times what is in use before it is
// collected, unless the user chose otherwise. A simulation keeps little (half
// a gigabyte for a million jobs) and lives briefly.
func FavourSpeed() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
