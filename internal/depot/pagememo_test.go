package depot

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot/depottest"
	"github.com/godwit-hpc/godwit/internal/depot/httpdepot"
)

func TestAnImageIsKnownAgainPageByPageWhateverChanged(t *testing.T) {
	client := serve(t, httpdepot.NewHandler(openStore(t, t.TempDir())))
	dir := t.TempDir()
	p := filepath.Join(dir, "pages.img")
	image := depottest.RandomBytes(1, memoFrom+100*pageSize)
	clear(image[50*pageSize : 90*pageSize])
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 5 {
		depottest.WriteFile(t, p, image)
		id, _, _ := mustPush(t, dir, client, PushOptions{})
		plain, _, _ := mustPush(t, dir, openStore(t, t.TempDir()), PushOptions{})
		if id != plain {
			t.Errorf("round %d: the image is %s, want %s", i, id, plain)
		}
		for range 300 { // pages change, become zero, change places, vanish
			at, from := r.IntN(len(image)/pageSize)*pageSize, r.IntN(len(image)/pageSize)*pageSize
			switch r.IntN(3) {
			case 0:
				image[at+r.IntN(pageSize)]++
			case 1:
				clear(image[at : at+pageSize])
			case 2:
				copy(image[at:at+pageSize], image[from:])
			}
		}
		image = image[:len(image)-pageSize*(1+r.IntN(10))]
	}
	if err := os.Remove(p); err != nil {
		t.Fatal(err)
	}
}
