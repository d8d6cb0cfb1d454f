package agent

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
)

// retryAway does something that needs the broker again and again as long as it
// cannot be reached and ctx is not done.
func (ar *hostServices) retryAway(ctx context.Context, do func() error) error {
	return ar.retryWhile(ctx, func(err error) time.Duration {
		if isAway(err) {
			return ar.longestTry
		}
		return 0
	}, do)
}

// retryWhile does something again and again while there is hope and ctx is not
// done. hope says of an error how long the pauses may become; 0: there is none.
func (ar *hostServices) retryWhile(ctx context.Context, hope func(error) time.Duration, do func() error) error {
	for pause := ar.firstTry; ; pause *= 2 {
		err := do()
		if err == nil {
			return nil
		}
		longest := hope(err)
		if longest == 0 {
			return err
		}
		pause = min(pause, longest)
		if !clock.SleepContext(ctx, pause) {
			return err
		}
	}
}

// isAway says whether an error means that the broker could not be reached, or
// went away half way; what it said is not among those.
func isAway(err error) bool {
	var netErr *net.OpError // not net.Error, which every errno is
	var urlErr *url.Error
	return errors.As(err, &urlErr) || errors.As(err, &netErr) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF)
}

func sortedEnv(set map[string]string) []string {
	list := make([]string, 0, len(set))
	for name, value := range set { // order-free: sorted below
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}
