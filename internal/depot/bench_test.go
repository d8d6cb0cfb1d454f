package depot

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/depottest"
	"github.com/godwit-hpc/godwit/internal/depot/httpdepot"
)

// The size of the image in MiB; DEPOT_MIB sets another.
func imageMiB() int {
	if n, err := strconv.Atoi(os.Getenv("DEPOT_MIB")); err == nil {
		return n
	}
	return 128
}

// image writes something like the memory of a program: half of it numbers
// with noise in their last digits, a quarter noise, a quarter small numbers.
func image(b *testing.B, dir string) string {
	b.Helper()
	p := filepath.Join(dir, "pages.img")
	f, err := os.Create(p)
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	mib := make([]byte, 1<<20)
	for i := range imageMiB() {
		for o := 0; o < len(mib); o += 8 {
			var v uint64
			switch i & 3 {
			case 0, 1:
				v = 0x3ff0_0000_0000_0000 + uint64(i<<20+o)<<8 + r.Uint64()&0xffff
			case 2:
				v = r.Uint64()
			case 3:
				v = r.Uint64()&0xff + uint64(i)
			}
			for k := range 8 {
				mib[o+k] = byte(v >> (8 * k))
			}
		}
		if _, err := f.Write(mib); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return p
}

// touch5 changes a twentieth of the pages a little, in runs, each time others.
func touch5(b *testing.B, p string) {
	b.Helper()
	f, err := os.OpenFile(p, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	touches++
	r := rand.New(rand.NewPCG(touches, 3))
	pages := imageMiB() * 256
	page := make([]byte, pageSize)
	for left := pages / 20; left > 0; {
		n := min(left, 1+r.IntN(64))
		at := r.IntN(pages - n)
		for i := range n {
			f.ReadAt(page, int64(at+i)*pageSize)
			for k := 0; k < pageSize; k += 64 {
				page[k] ^= byte(r.Uint32())
			}
			f.WriteAt(page, int64(at+i)*pageSize)
		}
		left -= n
	}
}

var touches uint64

type depotEnd interface {
	chunk.Sink
	chunk.Source
}

func ends(b *testing.B) map[string]func(b *testing.B) depotEnd {
	return map[string]func(b *testing.B) depotEnd{
		"disk": func(b *testing.B) depotEnd { return openStore(b, b.TempDir()) },
		"http": func(b *testing.B) depotEnd { return serve(b, httpdepot.NewHandler(openStore(b, b.TempDir()))) },
	}
}

func BenchmarkImage(b *testing.B) {
	dir := b.TempDir()
	p := image(b, dir)
	size := int64(imageMiB()) << 20
	b.Run("cp", func(b *testing.B) {
		b.SetBytes(size)
		for i := 0; b.Loop(); i++ {
			if out, err := exec.Command("cp", p, filepath.Join(b.TempDir(), fmt.Sprint(i))).CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
	})
	b.Run("sha256", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			f, _ := os.Open(p)
			io.Copy(sha256.New(), f)
			f.Close()
		}
	})
	for name, end := range ends(b) {
		var id chunk.ID
		b.Run(name+"/push", func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				b.StopTimer()
				d := end(b)
				b.StartTimer()
				mustPush(b, dir, d, PushOptions{})
			}
		})
		d := end(b)
		id, _, first := mustPush(b, dir, d, PushOptions{})
		b.Run(name+"/push-same", func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				mustPush(b, dir, d, PushOptions{})
			}
		})
		b.Run(name+"/push-touched", func(b *testing.B) {
			b.SetBytes(size)
			var moved int64
			n := 0
			for b.Loop() {
				b.StopTimer()
				touch5(b, p)
				b.StartTimer()
				_, _, stats := mustPush(b, dir, d, PushOptions{})
				moved += stats.Moved
				n++
			}
			b.ReportMetric(100*float64(moved)/float64(n)/float64(first.Moved), "%moved")
		})
		b.Run(name+"/fetch", func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				b.StopTimer()
				to := filepath.Join(b.TempDir(), "x")
				b.StartTimer()
				mustFetch(b, d, id, to)
			}
		})
	}
}

func BenchmarkSmallFiles(b *testing.B) {
	const files = 5000
	dir := b.TempDir()
	for i := range files {
		depottest.WriteFile(b, filepath.Join(dir, fmt.Sprint(i%50), fmt.Sprint(i)), depottest.LogText(uint64(i), 200+i%5000))
	}
	perSecond := func(b *testing.B) {
		b.ReportMetric(float64(files)*float64(b.N)/b.Elapsed().Seconds(), "files/s")
	}
	b.Run("cp", func(b *testing.B) {
		for b.Loop() {
			if out, err := exec.Command("cp", "-r", dir, filepath.Join(b.TempDir(), "x")).CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
		perSecond(b)
	})
	for name, end := range ends(b) {
		b.Run(name+"/push", func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				d := end(b)
				b.StartTimer()
				mustPush(b, dir, d, PushOptions{})
			}
			perSecond(b)
		})
		d := end(b)
		id, _, _ := mustPush(b, dir, d, PushOptions{})
		b.Run(name+"/push-same", func(b *testing.B) {
			for b.Loop() {
				mustPush(b, dir, d, PushOptions{})
			}
			perSecond(b)
		})
		b.Run(name+"/push-cached", func(b *testing.B) {
			age(b, dir)
			opt := PushOptions{Cache: filepath.Join(b.TempDir(), "cache")}
			mustPush(b, dir, d, opt)
			for b.Loop() {
				mustPush(b, dir, d, opt)
			}
			perSecond(b)
		})
		b.Run(name+"/fetch", func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				to := filepath.Join(b.TempDir(), "x")
				b.StartTimer()
				mustFetch(b, d, id, to)
			}
			perSecond(b)
		})
	}
	b.Run("snapshot-first", func(b *testing.B) {
		for b.Loop() {
			mustSnapshot(b, dir, nil)
		}
		perSecond(b)
	})
	b.Run("snapshot-unchanged", func(b *testing.B) {
		age(b, dir)
		shot, _ := mustSnapshot(b, dir, nil)
		mustPushShot(b, shot, openStore(b, b.TempDir()))
		for b.Loop() {
			mustSnapshot(b, dir, shot)
		}
		perSecond(b)
	})
}

// A short job has a tiny work folder, or none.
func BenchmarkTinyPush(b *testing.B) {
	for name, end := range ends(b) {
		b.Run(name+"/empty", func(b *testing.B) {
			d, dir := end(b), b.TempDir()
			for b.Loop() {
				mustPush(b, dir, d, PushOptions{})
			}
		})
		b.Run(name+"/one-new-file", func(b *testing.B) {
			d, dir := end(b), b.TempDir()
			for i := 0; b.Loop(); i++ {
				depottest.WriteFile(b, filepath.Join(dir, "a"), []byte(fmt.Sprint(i)))
				mustPush(b, dir, d, PushOptions{})
			}
		})
	}
}
