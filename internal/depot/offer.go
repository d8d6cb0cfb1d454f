package depot

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/httpdepot"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
	"github.com/godwit-hpc/godwit/internal/depot/walk"
)

// OfferFolder offers what dir holds now. A file that changes later is not given
// any more, since every chunk is checked.
func OfferFolder(ctx context.Context, dir string, opt PushOptions) (*httpdepot.Offer, error) {
	fail := func(err error) (*httpdepot.Offer, error) { return nil, fmt.Errorf("offering %s: %w", dir, err) }
	var skip func(string, bool) bool
	if g := walk.NewIgnorer(dir, opt.Ignore, opt.Exclude); g != nil {
		skip = g.IsIgnored
	}
	list, _, err := walk.ListFolder(dir, skip, opt.Limit)
	if err != nil {
		return fail(err)
	}
	files := make([]*source, len(list))
	for i := range list {
		files[i] = &source{FoundEntry: list[i], path: filepath.Join(dir, list[i].Path)}
	}
	own, spots := map[chunk.Sum][]byte{}, map[chunk.Sum]chunk.FileSpot{}
	p := &pusher{to: holdsAll{}, seen: map[chunk.Sum]bool{}, spots: spots}
	if err := p.pushAll(ctx, files); err != nil {
		return fail(err)
	}
	bytes := int64(0)
	folder := &tree.Tree{Entries: make([]tree.Entry, len(files))}
	for i, f := range files {
		folder.Entries[i] = f.Entry
		folder.Entries[i].Chunks = chunk.IDsOf(f.chunks)
		bytes += f.Size
	}
	text, err := tree.EncodeTree(folder)
	if err != nil {
		return fail(err)
	}
	chunks, err := tree.TextChunks(text)
	if err != nil {
		return fail(err)
	}
	for _, c := range chunks {
		own[c.ID] = c.Plain
	}
	return httpdepot.NewOffer(chunks[len(chunks)-1].ID.ToID(), bytes, own, spots), nil
}

// holdsAll is a depot that is said to have everything.
type holdsAll struct{}

func (holdsAll) MissingSums(context.Context, []chunk.Sum) ([]int, error) { return nil, nil }
func (holdsAll) PutBlocks(context.Context, []byte, []*chunk.Block) error { return nil }
