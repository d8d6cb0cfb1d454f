// Package engine is the scheduler as a state machine: Step takes the time and
// one input, decides, and returns the events that happened, the commands to be
// carried out and the moment at which it wants to be called again. It reads no
// clock, does no I/O and starts no goroutine, so the simulator, the lab and
// the live broker all run this same code. Policies propose; the engine checks
// every proposal against the world before it becomes an event.
//
// # What the caller of Step owes
//
// Whoever drives the engine does the following, in this order:
//
//  1. Call Step with one input at a time, and with times that do not go backwards
//     (should they, the engine's time stands still until they have caught up).
//  2. Make Output.Events durable, together with whatever the caller derives from them.
//     The world has changed already: a caller that cannot store them must not go on
//     with this engine, but make a new one from what is stored.
//  3. Make Output.Commands durable in the same transaction, or be able to derive them
//     again from the events, BEFORE carrying out the first of them.
//  4. Carry the commands out. The order between jobs is free; those of one job are
//     carried out in their order, save that Stage and Describe hold up nothing that
//     follows them. A Release is complete only when nothing of its epoch runs any
//     more: no Start of a later epoch may overtake it.
//  5. Call Step with a Tick at Output.WakeAt, or earlier. That is now if many jobs are to
//     be released: a step looks at a bounded number of them, and others may be told
//     something in between.
//
// Output is valid until the next call of Step.
//
// # What may be repeated
//
// Commands may be carried out again after a crash, any number of times: (Job, Epoch,
// Part) names the attempt, and the second Start of an attempt finds the first one.
// Inputs may be given again as well. Those of an epoch that is past, of a job that is
// over, and answers to an offer that is settled are dropped without an event; this is
// the fence against running a job twice. What one attempt says must arrive in the order
// in which it was said. A Returned for a job must be given once: it is the only input
// about a job that is over, and the caller remembers that it was given.
//
// # Starting again
//
// A world that is made from the stored events, or from a snapshot and the events after
// it, is the world that was lost. The caller makes a new engine on it, carries out the
// commands that are not known to have been, and calls Step with a Tick.
package engine
