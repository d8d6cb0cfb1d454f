//as internal/live/broker

package broker

import (
	"time"
	. "time"
)

func loop(start time.Time) {
	_ = time.Now()        // want `uses time.Now: internal/clock is the only owner`
	_ = Since(start)      // want `uses time.Since`
	_ = time.Until(start) // want `uses time.Until`
	<-time.NewTimer(Second).C
}
