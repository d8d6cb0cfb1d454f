//as internal/swf

package swf

import (
	_ "github.com/godwit-hpc/godwit/internal/badinput"
	_ "github.com/godwit-hpc/godwit/internal/policy/place" // want `describes`
)
