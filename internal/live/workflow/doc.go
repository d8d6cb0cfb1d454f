// Package workflow keeps the workflows of a broker: it takes them in, has each carried out
// by package flowrun until all its tasks are over, and keeps a record of it in the broker's
// store, from which it goes on after the broker was killed. It decides who may see and cancel
// which workflow, and how many of how many tasks a user may have; which task starts where is
// decided by package conduct. It must not know how it is asked (api, server).
package workflow
