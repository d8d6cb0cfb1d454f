// Package web holds the pages of the dashboard, as `make web` bundles them from src.
package web

import (
	"embed"
	"io/fs"
)

//go:embed dist
var files embed.FS

// Pages are the files that browsers ask for.
func Pages() fs.FS {
	pages, err := fs.Sub(files, "dist")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return pages
}
