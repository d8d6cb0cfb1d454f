// Package browser looks at the dashboard in a real browser: pages of a real broker with real jobs. It has tests alone.
package browser
