package core

import "slices"

// RetryFailed is the cause of loss of a program that ended with an exit code other
// than 0. It is retried only where its user says so.
const RetryFailed = "failed"

// RetriedAfter reports whether a job is to be started again after its attempt was lost
// through no fault of its own: after all causes, unless some are named; a cause that
// nobody knows counts as each of them.
func (j *Job) RetriedAfter(cause string) bool {
	named := slices.ContainsFunc(j.RetryOn, func(s string) bool { return s != RetryFailed })
	return !named || cause == "" || slices.Contains(j.RetryOn, cause)
}

// RetriedAfterFailure reports whether it is when its program ended with an exit code
// other than 0.
func (j *Job) RetriedAfterFailure() bool { return slices.Contains(j.RetryOn, RetryFailed) }
