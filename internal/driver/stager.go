package driver

import (
	"context"
	"errors"
	"time"

	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
)

// Stager can tell of the files of a site, and move them: what it was asked once
// may be asked again, also after it was cut off, and goes on where that ended.
type Stager interface {
	// StatFile looks at a file or a folder; a path that is not absolute is below the
	// home folder there. fs.ErrNotExist and fs.ErrPermission are told as such.
	StatFile(ctx context.Context, path string) (File, error)
	// PushFiles brings it into the depot of the broker.
	PushFiles(ctx context.Context, path string) (Moved, error)
	// BringTree keeps a tree of that depot at the site, for agents there to take.
	BringTree(ctx context.Context, tree string) (Moved, error)
}

// File is a file or a folder at a site.
type File struct {
	Path    string `json:"path"` // absolute
	Size    int64  `json:"size"` // of all that is in it
	ModTime int64  `json:"modTime"`
	Folder  bool   `json:"folder,omitempty"`
}

// Moved is what became of moving something.
type Moved struct {
	Tree  string `json:"tree"`  // in the depot: a folder that holds it alone
	Bytes int64  `json:"bytes"` // of all of it
	Sent  int64  `json:"sent"`  // that were not there already
	// Took is how long something was under way, without the time of looking for what
	// is new and of writing it down; 0: nobody knows.
	Took time.Duration `json:"took,omitzero"`
}

// PerUser is a driver that runs the attempts of several users, each as that user.
type PerUser interface {
	// FilesOf moves the files that a user sees, as that user; nil if nothing can.
	FilesOf(user uint32) Stager
}

// ErrUnreached says that one site cannot speak to another, whatever the reason.
var ErrUnreached = errors.New("the other site cannot be reached from there")

// Peer is a Stager whose site can also speak to other sites, without the broker
// in between.
type Peer interface {
	Stager
	// OfferFiles has the site give something to whoever holds the offer, until release
	// is called or nobody has come for a while.
	OfferFiles(ctx context.Context, w FileRequest) (o Offer, release func(), err error)
	// TakeOffer has the site fetch what another offers, and keep it as BringTree does. If
	// nothing of it can be reached the error is ErrUnreached.
	TakeOffer(ctx context.Context, o Offer) (Moved, error)
}

// FileRequest is what a site is to offer: a file or a folder, or a tree that it keeps.
type FileRequest struct {
	Path string `json:"path,omitempty"`
	Tree string `json:"tree,omitempty"`
}

// Offer is a tree, and how to come by it.
type Offer struct {
	Tree  string                `json:"tree"`
	Bytes int64                 `json:"bytes"` // of its files
	At    rendezvous.Rendezvous `json:"at"`
}

// Placer is a Stager whose site can also put files where its user wants them.
type Placer interface {
	Stager
	// PlaceResults puts what a folder holds into a folder of the user, or one thing at a
	// path: nobody ever sees half a file. Asked again, it goes on.
	PlaceResults(ctx context.Context, p ResultPlacement) ([]Placed, error)
	// DropResults removes a folder of ours that was placed, or is not to be. One that is not
	// absolute is below the folder of all such.
	DropResults(ctx context.Context, path string) error
}

// ResultPlacement is a folder and where what it holds is to be put: a folder of ours at the
// same site, which is emptied, or the one folder of a tree that the site keeps.
type ResultPlacement struct {
	Path string `json:"path,omitempty"`
	Tree string `json:"tree,omitempty"`
	To   string `json:"to"` // with a slash at its end, or if it is one: a folder
}

// Placed is a file or a folder that was put somewhere.
type Placed struct {
	File
	Tree string `json:"tree,omitempty"` // which holds it alone, if the site keeps it
}
