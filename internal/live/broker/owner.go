package broker

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/live/userfiles"
)

// A broker is one user's alone, or that of several. Of the latter everything is
// asked, and done, on behalf of somebody: the context says of whom. Where it says
// nothing, nothing is done.

// User is somebody who has jobs.
type User struct {
	ID   uint32 // as the system counts them; 0 is the broker's own user, who may see all jobs
	Name string
}

// Users is what a broker of several users has for each of them but its own.
type Users interface {
	// UserDepot keeps the files of one user; nobody else's are in it.
	UserDepot(user uint32) (*depot.Store, error)
	// UsersWithDepot lists the users who have one.
	UsersWithDepot() ([]uint32, error)
	// FilesOf works in the folders of a user, as that user.
	FilesOf(user uint32) (UserFiles, error)
}

// UserFiles works in the folders of one user.
type UserFiles interface {
	PutBack(ctx context.Context, r *userfiles.Results) (userfiles.Placed, error)
	Write(ctx context.Context, o *userfiles.Output, marker string, content io.Reader) error
	GatherFiles(ctx context.Context, files []userfiles.Copy) (tree string, err error)
}

type userKey struct{}

// WithUser says on whose behalf something is asked.
func WithUser(ctx context.Context, u User) context.Context {
	return context.WithValue(ctx, userKey{}, u)
}

// asOwner says that something is done for a job.
func (j *job) asOwner(ctx context.Context) context.Context { return WithUser(ctx, ownerOf(&j.rec)) }

func ownerOf(rec *store.Job) User { return User{rec.Owner, rec.User} }

var errNobody = errors.New("nobody asks for this: the broker is that of several users, and was not told whose behalf " +
	"this is on")

// requestUser is on whose behalf something is asked.
func (b *Broker) requestUser(ctx context.Context) (User, error) {
	if b.opt.Users == nil {
		return User{Name: b.opt.User}, nil
	}
	if u, ok := ctx.Value(userKey{}).(User); ok {
		return u, nil
	}
	return User{}, errNobody
}

// maySee says whether who asks may know of a job, and do with it as they like.
func (b *Broker) maySee(ctx context.Context, rec *store.Job) bool {
	u, err := b.requestUser(ctx)
	return err == nil && (u.ID == 0 || u.ID == rec.Owner)
}

// ownsJob says whether a job belongs to who asks.
func (b *Broker) ownsJob(ctx context.Context, rec *store.Job) bool {
	u, err := b.requestUser(ctx)
	return err == nil && u.ID == rec.Owner
}

// depotFor is where the files of who asks are.
func (b *Broker) depotFor(ctx context.Context) (*depot.Store, error) {
	u, err := b.requestUser(ctx)
	switch {
	case err != nil:
		return nil, err
	case u.ID == 0:
		return b.opt.Depot, nil
	}
	return b.opt.Users.UserDepot(u.ID)
}

// filesFor is what works in the folders of who asks.
func (b *Broker) filesFor(ctx context.Context) (UserFiles, error) {
	u, err := b.requestUser(ctx)
	switch {
	case err != nil:
		return nil, err
	case u.ID == 0:
		return userfiles.OwnUser{Depot: b.opt.Depot}, nil
	}
	return b.opt.Users.FilesOf(u.ID)
}

// DepotFor is where the files of who asks are.
func (b *Broker) DepotFor(ctx context.Context) (*depot.Store, error) { return b.depotFor(ctx) }

// CheckAdministrator says why who asks may not decide about the broker itself; nil if they may.
func (b *Broker) CheckAdministrator(ctx context.Context) error {
	u, err := b.requestUser(ctx)
	if err != nil || u.ID != 0 {
		return cmp.Or(err, error(&badinput.Error{Field: "user", Value: u.Name,
			Problem: "only root may do this with a broker of several users"}))
	}
	return nil
}

// filesOf is what moves the files of a cluster as who asks sees them; nil if
// nothing does.
func (b *Broker) filesOf(ctx context.Context, c *cluster) driver.Stager {
	u, err := b.requestUser(ctx)
	if err != nil {
		return nil
	}
	if c.Files != nil && u.ID == 0 {
		return c.Files
	}
	if p, ok := c.Driver.(driver.PerUser); ok {
		return p.FilesOf(u.ID)
	}
	s, _ := c.Driver.(driver.Stager)
	return s
}

func noSuchJob(ref string) error {
	return &badinput.Error{Problem: "no such job: " + ref + " (godwit ps --all lists all jobs)"}
}

// findStored finds a job in the store by its number or the beginning of its unique
// id, among those that who asks may see: of others not even their ids are told
// apart.
func (b *Broker) findStored(ctx context.Context, ref string) (*store.Job, error) {
	rec, err := b.opt.Store.FindJob(ctx, ref)
	if errors.Is(err, store.ErrManyJobs) || err == nil && !b.maySee(ctx, rec) {
		rec, err = b.storedOwn(ctx, ref, err)
	}
	return rec, err
}

// storedOwn looks among the jobs of who asks.
func (b *Broker) storedOwn(ctx context.Context, ref string, instead error) (*store.Job, error) {
	u, err := b.requestUser(ctx)
	if err != nil {
		return nil, err
	}
	if u.ID == 0 {
		return nil, instead
	}
	rec, err := b.opt.Store.FindJobOf(ctx, u.Name, ref)
	if err == nil && !b.ownsJob(ctx, rec) {
		return nil, store.ErrNoJob
	}
	return rec, err
}
