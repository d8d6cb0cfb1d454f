// Package flowsim carries out a workflow in virtual time: files travel over the
// links of a platform and share them, hosts have other work to do or fail, tasks
// take another time than their models say. What starts where is decided by package
// conduct, as in a live run: this package only tells it what happens, and does what
// it says. It must not decide anything itself.
package flowsim
