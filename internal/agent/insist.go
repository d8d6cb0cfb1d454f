package agent

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"slices"
	"time"
)

// insist does something that needs the broker again and again as long as it
// cannot be reached and ctx is not done.
func (ar *around) insist(ctx context.Context, do func() error) error {
	pause := ar.firstTry
	for {
		err := do()
		if err == nil || !away(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		pause = min(2*pause, ar.longestTry)
	}
}

// away says whether an error means that the broker could not be reached, or
// went away half way; what it said is not among those.
func away(err error) bool {
	var netErr *net.OpError // not net.Error, which every errno is
	var urlErr *url.Error
	return errors.As(err, &urlErr) || errors.As(err, &netErr) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

func sortedEnv(set map[string]string) []string {
	list := make([]string, 0, len(set))
	for name, value := range set { // order-free: sorted below
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}
