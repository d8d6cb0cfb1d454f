//as internal/clock

package clock

import "time"

func now() time.Time { return time.Now() }
