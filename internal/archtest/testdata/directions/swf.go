//as internal/format/swf

package swf

import (
	_ "github.com/godwit-hpc/godwit/internal/format/badinput"
	_ "github.com/godwit-hpc/godwit/internal/sched/place" // want `describes`
)
