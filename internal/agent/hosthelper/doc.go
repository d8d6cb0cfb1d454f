// Package hosthelper is what the agent of an attempt has on each further host of it: a process of our binary that says
// what the attempt's processes there use and which ranks of a parallel program run there, and on the agent's own host
// the keeper of these, which starts them, hears them and replaces one that died. A helper is reached as the launchers
// of ranks reach its host, and speaks through the connection that started it; the mark by which it knows the attempt's
// processes comes through that too, since command lines are everybody's to read. It starts and ends nothing. The
// package must not know what is done with what it hears. See docs/decisions/0031-helpers-on-every-host.md.
package hosthelper
