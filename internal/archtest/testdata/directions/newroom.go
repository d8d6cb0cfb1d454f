//as internal/attic

package attic // want `is in no room`

import (
	_ "fmt"
)
