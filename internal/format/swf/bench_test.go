package swf

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"testing"
)

const benchLines = 200_000

func BenchmarkReadingPlainText(b *testing.B) {
	benchmarkReading(b, generated(b, benchLines))
}

func BenchmarkReadingGzip(b *testing.B) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write(generated(b, benchLines)); err != nil {
		b.Fatal(err)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	benchmarkReading(b, z.Bytes())
}

func benchmarkReading(b *testing.B, text []byte) {
	b.Helper()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	lines := 0
	for b.Loop() {
		r := NewReader(bytes.NewReader(text), "bench", Options{})
		for {
			_, err := r.NextRecord()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			lines++
		}
	}
	b.ReportMetric(float64(lines)/b.Elapsed().Seconds(), "lines/s")
}
