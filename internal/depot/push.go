package depot

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/pack"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
	"github.com/godwit-hpc/godwit/internal/depot/walk"
)

// PushFolder brings what dir holds into to, and the tree that lists it. When it
// returns, all of it is durable. What an earlier push brought, even one that was
// cut off, is not sent again.
func PushFolder(ctx context.Context, dir string, to chunk.Sink, opt PushOptions) (chunk.ID, *tree.Tree, Stats, error) {
	fail := func(err error) (chunk.ID, *tree.Tree, Stats, error) {
		return "", nil, Stats{}, fmt.Errorf("sending %s: %w", dir, err)
	}
	var skip func(string, bool) bool
	if g := walk.NewIgnorer(dir, opt.Ignore, opt.Exclude); g != nil {
		skip = g.IsIgnored
	}
	list, skipped, err := walk.ListFolder(dir, skip, opt.Limit)
	if err != nil {
		return fail(err)
	}
	known := walk.ReadCache(opt.Cache)
	files := make([]*source, len(list))
	for i := range list {
		files[i] = &source{FoundEntry: list[i], path: filepath.Join(dir, list[i].Path), watch: opt.Cache != ""}
		if c, ok := known[list[i].Path]; ok && list[i].Mode.IsRegular() && c.Stamp == list[i].Stamp {
			files[i].chunks, files[i].known, files[i].trusted = c.ChunkSums(), true, true
		}
	}
	id, tree, stats, err := pushTold(ctx, files, to, opt.Progress)
	if err != nil {
		return fail(err)
	}
	stats.Skipped = skipped
	if opt.Cache != "" {
		walk.WriteCache(opt.Cache, cacheOf(files))
	}
	return id, tree, stats, nil
}

// source is one entry of the tree to be, and where its content is.
type source struct {
	walk.FoundEntry
	path   string      // of the file to read, which is not always the one in the tree
	offset int64       // of the content in that file
	chunks []chunk.Sum // of what it holds, if known
	known  bool
	live   bool // the file may have changed since it was looked at, and then is of no use
	watch  bool // find out whether the stamp will tell the next change
	// trusted: it will.
	trusted bool
}

// cacheOf are those files whose next change will show in their stamp.
func cacheOf(files []*source) map[string]walk.CachedFile {
	known := map[string]walk.CachedFile{}
	for _, f := range files {
		// A name that is no text would not come back from the cache.
		if f.Mode.IsRegular() && f.trusted && utf8.ValidString(f.Path) {
			known[f.Path] = walk.NewCachedFile(f.Stamp, f.chunks)
		}
	}
	return known
}

// maxPushTime is the time after which a push makes sure that the depot still has
// what it said it had. Collect must spare what was touched within that time.
const maxPushTime = 10 * time.Minute

// pushFiles brings files into to, and their tree.
func pushFiles(ctx context.Context, files []*source, to chunk.Sink) (chunk.ID, *tree.Tree, Stats, error) {
	return pushTold(ctx, files, to, nil)
}

// pushTold is push that tells how far it has come.
func pushTold(ctx context.Context, files []*source, to chunk.Sink,
	told func(done, total int64)) (chunk.ID, *tree.Tree, Stats, error) {
	begun := pack.SinceBoot()
	p := &pusher{to: chunk.BlockSinkOf(to), seen: map[chunk.Sum]bool{}, told: told}
	if err := p.findBase(ctx, files, to); err != nil {
		return "", nil, Stats{}, err
	}
	if err := p.pushAll(ctx, files); err != nil {
		return "", nil, Stats{}, err
	}
	for try := 0; pack.SinceBoot()-begun > maxPushTime; try++ {
		begun = pack.SinceBoot()
		lost, err := p.recheckFiles(ctx, files)
		if err != nil {
			return "", nil, Stats{}, err
		}
		if lost == 0 {
			break
		}
		if try == 3 {
			return "", nil, Stats{}, errors.New("the depot forgets chunks faster than they can be sent")
		}
		if err := p.pushAll(ctx, files); err != nil {
			return "", nil, Stats{}, err
		}
	}
	tree := &tree.Tree{Entries: make([]tree.Entry, len(files))}
	for i, f := range files {
		tree.Entries[i] = f.Entry
		tree.Entries[i].Chunks = chunk.IDsOf(f.chunks)
		p.stats.Chunks += len(f.chunks)
		p.stats.Bytes += f.Size
		if f.Mode.IsRegular() {
			p.stats.Files++
		}
	}
	id, err := p.sendTree(ctx, tree)
	if err != nil {
		return "", nil, Stats{}, err
	}
	return id, tree, p.stats, to.SyncChunks(ctx)
}

// findBase looks for a tree that resembles the one to be, and takes what it holds
// for there, without asking for every chunk.
func (p *pusher) findBase(ctx context.Context, files []*source, to chunk.Sink) error {
	trees, ok := to.(tree.TreeSink)
	if !ok || len(files) == 0 {
		return nil
	}
	p.trees = trees
	base, ok := trees.PushMemory().FindSimilar(files[0].Path)
	if !ok {
		return nil
	}
	id, err := chunk.ParseID(base.ID)
	if err != nil {
		return err
	}
	if held, err := trees.HoldTree(ctx, id); err != nil || !held {
		return err
	}
	if p.seen, err = tree.TextSums(base.Text); err != nil {
		return err
	}
	p.base, p.baseID = base.Text, id
	return nil
}

// sendTree sends the tree itself, its root last: who has the root has been sent
// everything.
func (p *pusher) sendTree(ctx context.Context, t *tree.Tree) (chunk.ID, error) {
	text, err := tree.EncodeTree(t)
	if err != nil {
		return "", err
	}
	chunks, err := tree.TextChunks(text)
	if err != nil {
		return "", err
	}
	root := chunks[len(chunks)-1].ID
	if p.trees != nil {
		p.trees.PushMemory().RememberTree(root.ToID(), t, text)
	}
	if sent, err := p.sendPatch(ctx, text, root); sent || err != nil {
		return root.ToID(), err
	}
	b := p.newBatch()
	for _, c := range chunks {
		if err := b.AddChunk(ctx, c.ID, c.Plain); err != nil {
			return "", err
		}
	}
	return root.ToID(), b.FlushMissing(ctx)
}

// sendPatch sends a large tree as what differs from another, if there is one.
func (p *pusher) sendPatch(ctx context.Context, text []byte, root chunk.Sum) (bool, error) {
	if p.base == nil || len(text) <= tree.MaxDirectTree || len(text) > tree.MaxRemembered {
		return false, nil
	}
	if root == p.baseID {
		return true, nil
	}
	patch := tree.MakePatch(p.base, text)
	if len(patch) > len(text)/2 || len(patch) > tree.MaxPatch {
		return false, nil
	}
	sent, err := p.trees.PutPatch(ctx, p.baseID, root, patch)
	if sent {
		p.stats.Moved += int64(len(patch))
	}
	return sent, err
}

// recheckFiles asks once more for all chunks of files, and makes unknown what the
// depot has lost since.
func (p *pusher) recheckFiles(ctx context.Context, files []*source) (lost int, err error) {
	clear(p.seen)
	for _, f := range files {
		f.known = true
	}
	gone, err := p.confirmFiles(ctx, files)
	if err != nil {
		return 0, err
	}
	p.base = nil
	for _, f := range gone {
		f.known, f.chunks = false, nil
	}
	return len(gone), nil
}
