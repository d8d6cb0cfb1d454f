// Package netflow moves bytes over shared links. It decides how fast every
// transfer goes at every moment (max-min fair) and when it ends. It is driven
// by whoever owns the virtual time and has no clock; it must not know of
// clusters, jobs or files, only of links by number.
//
// # Sharing
//
// A rate of a set of flows is max-min fair when none can get more without
// taking from one that has no more than itself. It is found by progressive
// filling: all rates rise together; when a link is full, the flows on it keep
// their rate and the others rise on. A fat pipe is never full: it bounds each
// of its flows by its whole rate. A flow that crosses a shared link twice takes
// from it twice.
//
// # Cost
//
// Flows over the same route always have the same rate, so they are kept
// together as a bundle, which remembers how much each of its flows has got
// since it began: a flow is done when that has grown by its bytes. When a flow
// begins or ends, or a link changes, only the bundles are filled anew that
// share links with it directly or through others. If these cross u links in
// sum, l different ones, this takes O(u log l), and once only for all events of
// one moment. Beginning or ending one of f flows takes O(log f) besides.
// Between events nothing is touched.
//
// # Precision
//
// Events fall on whole nanoseconds. A flow ends at the first nanosecond at
// which all of its bytes have moved, to within the precision of float64, and
// never before.
package netflow
