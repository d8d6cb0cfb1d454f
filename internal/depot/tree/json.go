package tree

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
)

// The canonical JSON of a tree is what encoding/json makes of these, in this
// order of fields, without escapes for HTML. A large tree is kept in parts, and
// its root lists them.
type treeJSON struct {
	Version int         `json:"godwit-tree"`
	Entries []entryJSON `json:"entries,omitempty"`
	Parts   []byte      `json:"parts,omitempty"` // IDs, 32 bytes each
	Size    int64       `json:"size,omitempty"`  // of the parts together
}

type entryJSON struct {
	Path    string      `json:"path,omitempty"`
	Path64  []byte      `json:"path64,omitempty"` // instead of path where that is not UTF-8
	Mode    fs.FileMode `json:"mode"`
	Size    int64       `json:"size,omitempty"`
	ModTime int64       `json:"mtime,omitempty"`
	Link    string      `json:"link,omitempty"`
	Link64  []byte      `json:"link64,omitempty"`
	Chunks  string      `json:"chunks,omitempty"` // IDs in base64, one by one, so that each stands for itself
}

const treeVersion = 1

// EncodeTree writes a tree as canonical JSON.
func EncodeTree(t *Tree) ([]byte, error) {
	if err := t.checkTree(); err != nil {
		return nil, err
	}
	out := treeJSON{Version: treeVersion, Entries: make([]entryJSON, len(t.Entries))}
	for i, e := range t.Entries {
		w := &out.Entries[i]
		*w = entryJSON{Mode: e.Mode, Size: e.Size, ModTime: e.ModTime}
		w.Path, w.Path64 = textOrBytes(e.Path)
		w.Link, w.Link64 = textOrBytes(e.Link)
		list, err := encodeChunks(e.Chunks)
		if err != nil {
			return nil, err
		}
		w.Chunks = list
	}
	return canonicalJSON(out)
}

func encodeChunks(ids []chunk.ID) (string, error) {
	var list strings.Builder
	list.Grow(44 * len(ids))
	one := [44]byte{43: ','}
	for i, id := range ids {
		s, err := chunk.ParseID(id)
		if err != nil {
			return "", err
		}
		base64.RawStdEncoding.Encode(one[:], s[:])
		if i == len(ids)-1 {
			list.Write(one[:43])
		} else {
			list.Write(one[:])
		}
	}
	return list.String(), nil
}

// textOrBytes gives s as text, or, since JSON holds nothing else, as bytes.
func textOrBytes(s string) (string, []byte) {
	if utf8.ValidString(s) {
		return s, nil
	}
	return "", []byte(s)
}

func canonicalJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding a tree: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func encodeParts(parts []chunk.Sum, size int64) ([]byte, error) {
	out := treeJSON{Version: treeVersion, Size: size}
	for _, p := range parts {
		out.Parts = append(out.Parts, p[:]...)
	}
	return canonicalJSON(out)
}

func decodeJSON(b []byte) (*treeJSON, error) {
	var in treeJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return nil, BadTree("%v", err)
	}
	if in.Version != treeVersion {
		return nil, BadTree("version %d", in.Version)
	}
	return &in, nil
}

// decodeParts gives the parts of a root, nil if the root is the whole tree.
func decodeParts(b []byte) ([]chunk.Sum, int64, error) {
	if len(b) <= MaxDirectTree && bytes.HasPrefix(b, []byte(`{"godwit-tree":1,"entries"`)) {
		return nil, 0, nil // as nearly always
	}
	in, err := decodeJSON(b)
	if err != nil || in.Parts == nil {
		return nil, 0, err
	}
	if in.Entries != nil || in.Size <= 0 || len(in.Parts)%32 != 0 {
		return nil, 0, BadTree("its list of parts")
	}
	parts := make([]chunk.Sum, len(in.Parts)/32)
	for i := range parts {
		parts[i] = chunk.Sum(in.Parts[32*i:])
		if _, zero := parts[i].IsZeros(); zero {
			return nil, 0, BadTree("a part that is empty")
		}
	}
	return parts, in.Size, nil
}

func decodeTree(b []byte) (*Tree, error) {
	in, err := decodeJSON(b)
	if err != nil {
		return nil, err
	}
	if in.Parts != nil || in.Size != 0 {
		return nil, BadTree("a list of parts in a list of parts")
	}
	t := &Tree{Entries: make([]Entry, len(in.Entries))}
	for i, w := range in.Entries {
		e := &t.Entries[i]
		*e = Entry{Path: w.Path, Mode: w.Mode, Size: w.Size, ModTime: w.ModTime, Link: w.Link}
		if w.Path64 != nil {
			e.Path = string(w.Path64)
		}
		if w.Link64 != nil {
			e.Link = string(w.Link64)
		}
		if e.Chunks, err = decodeChunks(w.Chunks); err != nil {
			return nil, BadTree("the chunks of %q: %v", chunk.ClipText(e.Path), err)
		}
	}
	if err := t.checkTree(); err != nil {
		return nil, err
	}
	return t, nil
}

// decodeChunks reads a list of IDs.
func decodeChunks(list string) ([]chunk.ID, error) {
	if list == "" {
		return nil, nil
	}
	sums := make([]chunk.Sum, 0, len(list)/44+1)
	err := eachChunk(list, func(s chunk.Sum) { sums = append(sums, s) })
	return chunk.IDsOf(sums), err
}

func eachChunk(list string, f func(chunk.Sum)) error {
	var s [44]byte
	strict := base64.RawStdEncoding.Strict() // there is one way to write an ID
	for token := range strings.SplitSeq(list, ",") {
		if len(token) != 43 {
			return errors.New("no ID")
		}
		if n, err := strict.Decode(s[:], []byte(token)); err != nil || n != len(chunk.Sum{}) {
			return errors.New("no ID")
		}
		f(chunk.Sum(s[:32]))
	}
	return nil
}

// TextSums gives the chunks of all files of an encoded tree, each once and
// without runs of zeros.
func TextSums(text []byte) (map[chunk.Sum]bool, error) {
	in, err := decodeJSON(text)
	if err != nil {
		return nil, err
	}
	ids := map[chunk.Sum]bool{}
	for _, e := range in.Entries {
		if e.Chunks == "" {
			continue
		}
		err := eachChunk(e.Chunks, func(s chunk.Sum) {
			if _, zero := s.IsZeros(); !zero {
				ids[s] = true
			}
		})
		if err != nil {
			return nil, BadTree("the chunks of %q: %v", chunk.ClipText(e.Path), err)
		}
	}
	return ids, nil
}
