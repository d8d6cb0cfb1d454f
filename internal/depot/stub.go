package depot

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"time"
)

var errStub = errors.New("depot: not there yet")

// Store is a depot on disk.
type Store struct{}

// Open opens the depot in dir, which it makes if need be.
func Open(dir string) (*Store, error) { return nil, errStub }

// Close ends the use of the store.
func (s *Store) Close() error { return errStub }

func (s *Store) Get(ctx context.Context, id ID) ([]byte, error)      { return nil, errStub }
func (s *Store) Missing(ctx context.Context, ids []ID) ([]ID, error) { return nil, errStub }
func (s *Store) Put(ctx context.Context, id ID, plain []byte) error  { return errStub }
func (s *Store) Sync(ctx context.Context) error                      { return errStub }

// Collected is what Collect did.
type Collected struct {
	Chunks int   // dropped
	Bytes  int64 // freed on disk
	Kept   int   // chunks still there
	Bad    []ID  // roots that are missing or damaged
}

// Collect drops every chunk that no root reaches and that no push has put or
// asked for within olderThan.
func (s *Store) Collect(ctx context.Context, roots []ID, olderThan time.Duration) (Collected, error) {
	return Collected{}, errStub
}

// Client is a depot behind HTTP.
type Client struct{}

// NewClient speaks to the Handler that is mounted at baseURL.
func NewClient(h *http.Client, baseURL string) *Client { return nil }

func (c *Client) Get(ctx context.Context, id ID) ([]byte, error)      { return nil, errStub }
func (c *Client) Missing(ctx context.Context, ids []ID) ([]ID, error) { return nil, errStub }
func (c *Client) Put(ctx context.Context, id ID, plain []byte) error  { return errStub }
func (c *Client) Sync(ctx context.Context) error                      { return errStub }

// Handler serves s. It looks at the last element of the path only, so it may
// be mounted anywhere, with or without http.StripPrefix.
func Handler(s *Store) http.Handler { return nil }

// Tree is a folder. Its entries are sorted by path.
type Tree struct {
	Entries []Entry
}

// Entry is a file, a folder or a symbolic link of a tree.
type Entry struct {
	Path    string // relative, with slashes
	Mode    fs.FileMode
	Size    int64
	ModTime int64 // ns since 1970
	Link    string
	Chunks  []ID
}

// PushOptions are what Push leaves out and how far it goes.
type PushOptions struct {
	// Ignore leaves out .git and what .gitignore and .godwitignore files say.
	// Only for folders that a user submits: a result may well be ignored by git.
	Ignore  bool
	Exclude []string // patterns as in a .gitignore, in force even without Ignore
	Cache   string   // file that remembers what was read; "": none
	Limit   Limit
}

// Limit bounds a folder; 0 is no limit.
type Limit struct {
	Bytes int64
	Files int
}

// ErrTooLarge is what Push returns, wrapped with folder, size and limit, when
// the folder exceeds the limit.
var ErrTooLarge = errors.New("too large")

// Push brings what dir holds into to. When it returns, all of it is durable.
func Push(ctx context.Context, dir string, to Sink, opt PushOptions) (ID, *Tree, Stats, error) {
	return "", nil, Stats{}, errStub
}

// Shot is what a folder held at one moment.
type Shot struct{}

// Snapshot copies what changed in dir since prev into the folder into, which
// it makes. It is meant for the time while a program stands still. Push of the
// shot may follow later; after it into may be removed. prev may be nil.
func Snapshot(dir, into string, prev *Shot) (*Shot, error) { return nil, errStub }

// Push brings the shot into to.
func (s *Shot) Push(ctx context.Context, to Sink) (ID, *Tree, Stats, error) {
	return "", nil, Stats{}, errStub
}

// LoadTree reads the tree id.
func LoadTree(ctx context.Context, from Source, id ID) (*Tree, error) { return nil, errStub }

// Fetch makes dir hold exactly the tree id.
func Fetch(ctx context.Context, from Source, id ID, dir string) (*Tree, error) { return nil, errStub }

// Apply removes and writes single entries of a folder and leaves the rest
// alone: what Differ found between two trees.
func Apply(ctx context.Context, from Source, dir string, changed []Entry, removed []string) error {
	return errStub
}

// Verify checks that every chunk of the tree id is there and sound.
func Verify(ctx context.Context, from Source, id ID) error { return errStub }

// Differ says what has to be written and removed to make b out of a.
func Differ(a, b *Tree) (changed []Entry, removed []string) { return nil, nil }
