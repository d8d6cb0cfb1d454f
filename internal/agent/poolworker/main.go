package poolworker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/protocol/poolwork"
	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// exchangeTimeout is how long a broker may take to answer.
const exchangeTimeout = time.Minute

// RunWorker is the process of a worker: args is the command that it runs for each item. It
// returns its exit code.
func RunWorker(args []string) int {
	pool, err := strconv.ParseInt(os.Getenv(poolwork.PoolVariable), 10, 64)
	job, err2 := strconv.ParseInt(os.Getenv(poolwork.JobVariable), 10, 64)
	where := os.Getenv(poolwork.BrokerVariable)
	if err != nil || err2 != nil || where == "" || len(args) == 0 {
		_, _ = fmt.Fprintln(os.Stderr, "godwit: a worker of a pool is started by the pool, see godwit help pool")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	c := newCommand(args, os.Environ())
	client := &http.Client{Timeout: exchangeTimeout, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return rendezvous.DialBroker(ctx, where)
		},
		MaxIdleConns: 1, IdleConnTimeout: exchangeTimeout,
	}}
	WorkItems(ctx, Options{Pool: pool, Job: core.JobID(job), Mark: os.Getenv(poolwork.AttemptVariable),
		Clock: clock.RealClock(), RunItem: c.runItem,
		Exchange: func(ctx context.Context, r *poolwork.Report) (*poolwork.Answer, error) {
			return exchangeReport(ctx, client, r)
		}})
	if ctx.Err() != nil {
		return 128 + int(syscall.SIGTERM)
	}
	return 0
}

// maxAnswer bounds how much of an answer is read.
const maxAnswer = 2*poolwork.MaxText + 1<<20

// exchangeReport hands in a report.
func exchangeReport(ctx context.Context, client *http.Client, r *poolwork.Report) (*poolwork.Answer, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://broker"+poolwork.Path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the broker answered %s: %.200s", resp.Status, text)
	}
	answer := &poolwork.Answer{}
	return answer, json.Unmarshal(text, answer)
}
