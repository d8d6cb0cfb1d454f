// Package lab is a grid on one Linux machine: hosts with names, addresses,
// links of a certain rate and delay, a certain speed, users and a file system
// they share, in clusters that are plain or have a batch system. It decides how
// such a grid is described, made, disturbed and removed without a trace. It
// must not know what runs on it: it knows no broker.
//
// A host is a process of ours (its init) in network, UTS, mount, IPC and pid
// namespaces of its own and in cgroups of its own. Namespaces have no names in
// the file system: they end with their processes. What can be left behind by a
// lab that was killed is therefore processes, all of which are in cgroups that
// carry the lab's name, those cgroups, and the lab's folder; RemoveLab finds them by
// the name alone.
//
// Whoever uses the package must let it take over processes that it starts from
// the same binary, first thing in main or TestMain:
//
//	if code, ours := lab.Reexec(os.Args[1:]); ours {
//		os.Exit(code)
//	}
package lab
