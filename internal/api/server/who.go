package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"syscall"

	"github.com/godwit-hpc/godwit/internal/broker"
)

// SameUser makes a listener refuse processes of other users.
func SameUser(l net.Listener, uid uint32) net.Listener { return &sameUser{l, uid} }

type sameUser struct {
	net.Listener
	uid uint32
}

func (l *sameUser) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if uid, err := peer(conn); err == nil && (uid == l.uid || uid == 0) {
			return conn, nil
		}
		_ = conn.Close()
	}
}

// peer is the user at the other end of a Unix socket.
func peer(conn net.Conn) (uint32, error) {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *syscall.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil {
		return 0, err
	}
	if credErr != nil {
		return 0, credErr
	}
	return cred.Uid, nil
}

// whoKey is under which a context says whose connection it is, or why nobody
// knows.
type whoKey struct{}

// Identify says, for the whole life of a connection, whose it is: as the system
// knows the process at the other end. lookUp finds the account.
func Identify(lookUp func(uid uint32) (broker.User, error)) func(context.Context, net.Conn) context.Context {
	return func(ctx context.Context, conn net.Conn) context.Context {
		uid, err := peer(conn)
		if err != nil {
			return context.WithValue(ctx, whoKey{}, err)
		}
		u, err := lookUp(uid)
		if err != nil {
			return context.WithValue(ctx, whoKey{}, err)
		}
		return For(ctx, u)
	}
}

// For says that everything that comes is this user's.
func For(ctx context.Context, u broker.User) context.Context {
	return broker.As(context.WithValue(ctx, whoKey{}, u), u)
}

var errStranger = errors.New("it is not known who asks")

// identified refuses requests of which nobody knows whose they are.
func identified(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch who := r.Context().Value(whoKey{}).(type) {
		case broker.User:
			h.ServeHTTP(w, r)
		case error:
			refuse(w, who)
		default:
			refuse(w, errStranger)
		}
	})
}
