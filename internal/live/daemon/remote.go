package daemon

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/remote"
	"github.com/godwit-hpc/godwit/internal/host/account"
	"github.com/godwit-hpc/godwit/internal/live/config"
)

// openRemote makes the driver of a cluster that is reached by SSH. It connects beside
// us; whoever needs the cluster waits for that.
func (g *grid) openRemote(c *config.Cluster) (driver.Driver, error) {
	if len(c.SSHHosts) > 0 {
		return g.openPool(c)
	}
	return g.openSSHHost(c, c.SSH, "", nil)
}

// openSSHHost makes the driver of one host, or of a whole cluster behind it. The word
// tells hosts of one cluster apart that may share a file system; as is the user
// who is to reach it, nil for our own.
func (g *grid) openSSHHost(c *config.Cluster, ssh, word string, as *account.User) (*remote.Driver, error) {
	owner, err := g.brokerIdentity()
	if err != nil {
		return nil, err
	}
	o := remote.Options{Cluster: c.Name, SSH: ssh, SSHOptions: c.SSHOptions, Socket: g.door,
		Control: controlFolder(g.socket), Owner: owner + word,
		Sent: g.sentFile(c, word, as), Settings: *g.driverSettings(c), Log: g.Log}
	o.Settings.Kin = g.otherUsersFolder(c, o.Owner)
	if as != nil {
		if err := g.connectAs(&o, c, as); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(filepath.Dir(o.Sent), 0o700); err != nil {
		return nil, err
	}
	if len(g.Agent) > 0 { // as tests have it
		o.Binary = g.Agent[0]
	}
	d, err := remote.New(o)
	if err != nil {
		return nil, err
	}
	if as == nil {
		g.keepOpen(c.Name, d)
	}
	return d, nil
}

// brokerIdentity is a word by which this broker is known where others have folders
// too. It stays the same as long as the state folder lives: so do the numbers of
// jobs.
func (g *grid) brokerIdentity() (string, error) {
	g.mu.Lock() // clusters are opened side by side, and it is one for all
	defer g.mu.Unlock()
	file := filepath.Join(g.State, "identity")
	text, err := os.ReadFile(file)
	if word := strings.TrimSpace(string(text)); err == nil && word != "" {
		return word, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	id := make([]byte, 6)
	_, _ = rand.Read(id) // never fails
	word := hex.EncodeToString(id)
	if err := os.WriteFile(file+".new", []byte(word+"\n"), 0o600); err != nil {
		return "", err
	}
	return word, os.Rename(file+".new", file)
}

// controlFolder is a folder for sockets of ssh: that of our own socket, which is ours
// alone, if its path leaves room for their names.
func controlFolder(socket string) string {
	const room = 100 - len("/ssh-0123456789ab.0123456789abcdef")
	if dir := filepath.Dir(socket); len(dir) <= room {
		return dir
	}
	return ""
}
