package rendezvous

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"strings"
)

// callerPrefix begins the address from which somebody at a cluster is brought to the
// broker's socket.
const callerPrefix = "@godwit-caller/"

// CallerWord stands for a cluster in such an address: names of clusters may be too long
// for one.
func CallerWord(cluster string) string {
	sum := sha256.Sum256([]byte(cluster))
	return hex.EncodeToString(sum[:8])
}

// CallerAddress is an address, of one connection, that says at which cluster it begins.
// The broker's sockets for agents take connections of the broker's own user alone, who
// is not lied to.
func CallerAddress(cluster string) *net.UnixAddr {
	var id [12]byte
	_, _ = rand.Read(id[:]) // never fails
	return &net.UnixAddr{Net: "unix", Name: callerPrefix + CallerWord(cluster) + "/" + hex.EncodeToString(id[:])}
}

// CallerOf is the word of the cluster at which a connection begins; "": it does not say.
func CallerOf(addr net.Addr) string {
	u, ok := addr.(*net.UnixAddr)
	if !ok {
		return ""
	}
	rest, ok := strings.CutPrefix(u.Name, callerPrefix)
	word, _, found := strings.Cut(rest, "/")
	if !ok || !found {
		return ""
	}
	return word
}
