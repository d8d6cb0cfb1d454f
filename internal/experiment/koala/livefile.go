package koala

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jsonlines"
	"github.com/godwit-hpc/godwit/internal/report/outfile"
)

// keepRuns writes a file: compressed, a line with the machine, then one for each run.
func (l *LiveResults) keepRuns(path string) error {
	var data bytes.Buffer
	packed := gzip.NewWriter(&data)
	lines := json.NewEncoder(packed)
	err := lines.Encode(l.Machine)
	for i := range l.Runs {
		err = errors.Join(err, lines.Encode(&l.Runs[i]))
	}
	if err = errors.Join(err, packed.Close()); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return outfile.WriteAll(path, data.Bytes())
}

// ReadLive reads the runs that were made in the lab.
func ReadLive(path string) (*LiveResults, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, badinput.UnreadableFile(path, err)
	}
	defer func() { _ = f.Close() }() // only read from
	lines, err := jsonlines.Open(f, path)
	if err != nil {
		return nil, err
	}
	r := &LiveResults{}
	if err := lines.DecodeNext(&r.Machine); err != nil {
		return nil, err
	}
	for {
		var run LiveRun
		switch err := lines.DecodeNext(&run); {
		case errors.Is(err, io.EOF):
			return r, nil
		case err != nil:
			return nil, err
		}
		r.Runs = append(r.Runs, run)
	}
}
