package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/driver/peruser"
	"github.com/godwit-hpc/godwit/internal/host/account"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/live/userfiles"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// users is what a broker of several users has for each of them besides its own:
// a folder below the state folder, which nobody but the broker can look into, a
// depot in it, a door for the user's agents, and processes as that user.
type users struct {
	state   string
	private string // socket beside which doors are made, in a folder of ours alone
	public  string // socket at which users are answered
	self    []string
	account func(uid uint32) (*account.User, error)
	store   store.Store

	depotLimit int64 // bytes in the depot of each

	mu     sync.Mutex
	depots map[uint32]*depot.Store
	doors  map[uint32]*userSocket
	serve  func(user broker.User, l net.Listener) (close func()) // answers agents of a user
}

// userSocket is where agents of one user are brought.
type userSocket struct {
	path  string
	close func()
}

var _ broker.Users = (*users)(nil)

func newUsers(o *Options, public string, st store.Store) (*users, error) {
	// What somebody else's broker left in it would be root's now.
	if err := checkOursAlone(o.State); err != nil {
		return nil, fmt.Errorf("the state folder of a broker of several users: %w", err)
	}
	private, err := api.PrepareSocket(o.State)
	if err != nil {
		return nil, err
	}
	u := &users{state: o.State, account: o.Accounts, private: private, public: public, store: st,
		depots: map[uint32]*depot.Store{}, doors: map[uint32]*userSocket{}}
	if u.account == nil {
		u.account = new(account.Table).AccountOf
	}
	if err := os.Chmod(o.State, 0o700); err != nil { // whoever made it
		return nil, err
	}
	if len(o.Agent) > 0 { // as tests have it
		u.self = o.Agent[:1]
	} else {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		u.self = []string{self}
	}
	return u, checkRunnable(u.self[0])
}

// checkRunnable says what is wrong with a program that not everybody can run.
func checkRunnable(program string) error {
	for path := program; ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("%s must be where all users can run it, as their jobs are started with it; %s is not open to them",
				program, path)
		}
		if path == filepath.Dir(path) {
			return nil
		}
	}
}

// brokerUser is a user as the broker knows them.
func (u *users) brokerUser(uid uint32) (broker.User, error) {
	a, err := u.account(uid)
	if err != nil {
		return broker.User{}, err
	}
	return broker.User{ID: uid, Name: a.Name}, nil
}

func (u *users) userDir(user uint32) string {
	return filepath.Join(u.state, "users", strconv.FormatUint(uint64(user), 10))
}

// allUsers are the users who have a folder.
func (u *users) allUsers() ([]uint32, error) {
	entries, err := os.ReadDir(filepath.Join(u.state, "users"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []uint32
	for _, e := range entries {
		if id, err := strconv.ParseUint(e.Name(), 10, 32); err == nil && id > 0 {
			list = append(list, uint32(id))
		}
	}
	return list, err
}

// UsersWithDepot implements broker.Users.
func (u *users) UsersWithDepot() ([]uint32, error) { return u.allUsers() }

// UserDepot implements broker.Users.
func (u *users) UserDepot(user uint32) (*depot.Store, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if d := u.depots[user]; d != nil {
		return d, nil
	}
	d, err := depot.Open(filepath.Join(u.userDir(user), "depot"))
	if err == nil {
		d.SetLimit(u.depotLimit)
		u.depots[user] = d
	}
	return d, err
}

// FilesOf implements broker.Users.
func (u *users) FilesOf(user uint32) (broker.UserFiles, error) {
	a, err := u.account(user)
	if err != nil {
		return nil, err
	}
	return userfiles.OtherUser{Command: u.self, As: a.RunAs, Broker: u.public}, nil
}

// ownerOf is whose a job is.
func (u *users) ownerOf(ctx context.Context, id core.JobID) (uint32, error) {
	rec, err := u.store.FindJob(ctx, strconv.FormatInt(int64(id), 10))
	if errors.Is(err, store.ErrNoJob) || err == nil && rec.ID != id {
		return 0, peruser.ErrNoJob
	}
	if err != nil {
		return 0, err
	}
	return rec.Owner, nil
}

// agentSocket is the socket to which the agents of a user are brought: whoever comes
// through it speaks for that user's jobs alone.
func (u *users) agentSocket(user uint32) (string, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if d := u.doors[user]; d != nil {
		return d.path, nil
	}
	who, err := u.brokerUser(user)
	if err != nil {
		return "", err
	}
	path, l, err := openAgentSocket(u.private, "-"+strconv.FormatUint(uint64(user), 10))
	if err != nil {
		return "", err
	}
	u.doors[user] = &userSocket{path, u.serve(who, l)}
	return path, nil
}

func (u *users) closeAll() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	var errs []error
	for _, d := range u.doors { // order-free: all are closed
		d.close()
	}
	for _, d := range u.depots { // order-free: all are closed
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}
