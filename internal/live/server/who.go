package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"syscall"

	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
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
		if uid, err := peerUser(conn); err == nil && (uid == l.uid || uid == 0) {
			return conn, nil
		}
		_ = conn.Close()
	}
}

// peerUser is the user at the other end of a Unix socket.
func peerUser(conn net.Conn) (uint32, error) {
	u, ok := conn.(syscall.Conn)
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

// whoKey is under which a context says whose connection it is: a broker.User, or
// the number of one, or why nobody knows.
type whoKey struct{}

// IdentifyConn notes, for the whole life of a connection, whose it is: as the system
// knows the process at the other end.
func IdentifyConn(ctx context.Context, conn net.Conn) context.Context {
	uid, err := peerUser(conn)
	if err != nil {
		return context.WithValue(ctx, whoKey{}, err)
	}
	return context.WithValue(ctx, whoKey{}, uid)
}

// ForUser says that everything that comes is this user's.
func ForUser(ctx context.Context, u broker.User) context.Context {
	return context.WithValue(ctx, whoKey{}, u)
}

// callerKey is under which a context says at which cluster a connection begins.
type callerKey struct{}

// FromCluster notes, for the whole life of a connection, at which cluster it begins, if
// it says so.
func FromCluster(ctx context.Context, conn net.Conn) context.Context {
	if caller := rendezvous.CallerOf(conn.RemoteAddr()); caller != "" {
		return context.WithValue(ctx, callerKey{}, caller)
	}
	return ctx
}

var errStranger = errors.New("it is not known who asks")

// identifyRequests has requests answered on behalf of who asks. It refuses those of
// which nobody knows whose they are.
func identifyRequests(lookUp func(uid uint32) (broker.User, error), h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var u broker.User
		var err error
		switch who := r.Context().Value(whoKey{}).(type) {
		case broker.User:
			u = who
		case uint32:
			u, err = lookUp(who)
		case error:
			err = who
		default:
			err = errStranger
		}
		if err != nil {
			refuseRequest(w, err)
			return
		}
		ctx := context.WithValue(broker.WithUser(r.Context(), u), askerKey{}, u.ID)
		h.ServeHTTP(w, r.WithContext(ctx))
	})
}
