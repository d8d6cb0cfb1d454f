// Package workpool keeps the pools of work items of a broker: it takes them in, has as many
// workers as a pool may have run as jobs, gives them items, and counts what comes back, each item
// once. What was counted is durable before a worker is told, so that a pool goes on after the
// broker was killed. It decides who may see and cancel which pool, and how much of that a user
// may have; who gets which items, and how many workers there are, is decided by package
// itempool. It must not know how it is asked (api, server), nor how items are run.
package workpool
