// Command webpages bundles the pages of the dashboard: web/src into web/dist. It needs what `npm ci` puts into
// web/node_modules, and nothing of npm to run.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	check := flag.Bool("check", false, "write nothing; fail if what is there is not what the sources give")
	flag.Parse()
	if err := run(flag.Arg(0), *check); err != nil {
		fmt.Fprintln(os.Stderr, "webpages:", err)
		os.Exit(1)
	}
}

func run(dir string, check bool) error {
	files, err := bundle(dir)
	if err != nil {
		return err
	}
	for _, name := range []string{"index.html", "icon.svg"} {
		if files[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if check {
		return compare(filepath.Join(dir, "dist"), files)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, "dist", name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// bundle makes app.js and app.css.
func bundle(dir string) (map[string][]byte, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	result := api.Build(api.BuildOptions{
		AbsWorkingDir: dir, EntryPointsAdvanced: []api.EntryPoint{{InputPath: "src/main.tsx", OutputPath: "app"}, {InputPath: "style.css", OutputPath: "app"}},
		Bundle: true, MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, Outdir: "dist", Target: api.ES2022,
		JSX: api.JSXAutomatic, JSXImportSource: "preact", LegalComments: api.LegalCommentsEndOfFile, Charset: api.CharsetUTF8,
		External: []string{}, Format: api.FormatIIFE, LogLevel: api.LogLevelWarning,
	})
	if len(result.Errors) > 0 {
		return nil, errors.New("the sources cannot be bundled (npm ci in web brings the libraries)")
	}
	files := map[string][]byte{}
	for _, f := range result.OutputFiles {
		files[filepath.Base(f.Path)] = f.Contents
	}
	return files, nil
}

// compare says which file is not what the sources give.
func compare(dist string, files map[string][]byte) error {
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(dist, name))
		if err != nil {
			return err
		}
		if string(got) != string(want) {
			return fmt.Errorf("%s is not what the sources give: make web", filepath.Join(dist, name))
		}
	}
	return nil
}
