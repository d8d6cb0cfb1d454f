// Package sim runs the engine in virtual time. It stands where clusters,
// programs and networks stand in the live system: it carries the engine's
// commands out on models of them and tells the engine what came of it, and
// meets it at Step alone. It decides nothing about scheduling; a cluster's own
// queue (localq) is the model of a local manager, not part of the engine.
package sim
