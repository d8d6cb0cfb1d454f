// Package httpdepot is a depot behind HTTP: the client, the handler that serves a store
// to clients, the fence that keeps from them what is not theirs, and offers of one tree.
// It must not know what the chunks are for.
package httpdepot
