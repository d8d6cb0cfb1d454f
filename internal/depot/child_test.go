package depot

// childFlag as first argument makes the test binary a process of its own that
// uses a depot, to be killed.
const childFlag = "-depot-child"

func child(args []string) { panic("no such child: " + args[0]) }
