package api

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Where the broker of all users of a machine is, unless it is told otherwise.
const (
	SharedSocket   = "/run/godwit/broker.sock"
	SharedState    = "/var/lib/godwit"
	SharedSettings = "/etc/godwit/config.yaml"
)

// SocketSetting names the environment variable that says at which socket the
// broker of all users is.
const SocketSetting = "GODWIT_SOCKET"

// CheckTrusted says why a socket cannot be taken for that of a broker whom to tell
// everything: nobody but root, or this user, may have been able to put it there.
// fs.ErrNotExist if there is none.
func CheckTrusted(socket string) error {
	for path, kind := range map[string]fs.FileMode{socket: fs.ModeSocket, filepath.Dir(socket): fs.ModeDir} {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		owner, ok := info.Sys().(*syscall.Stat_t)
		if !ok || info.Mode().Type() != kind || owner.Uid != 0 && int(owner.Uid) != os.Getuid() || kind == fs.ModeDir &&
			info.Mode().Perm()&0o022 != 0 {
			return fmt.Errorf("%s is not trusted: others than root could have made it", path)
		}
	}
	return nil
}
