//as internal/core

// Package core is documented.
package core
