#!/bin/sh
# patch.sh DIR: makes DIR/src, gVisor as go.mod pins it with a few lines changed, and
# DIR/go.mod, with which the go command builds that instead. It fails if gVisor is
# not as it was when this was written.
#
# Write: to a program that writes more to its output, a pipe of the host, than
# there is room for, gVisor says how much it took; Linux says so only to programs
# that asked not to wait. Programs that do not expect it (Python without buffers,
# many in C) would lose the rest. Changed, gVisor waits and writes on. And if it is
# stopped to be saved while it waits, it writes on when it goes on: the file
# write_restart.go.in is added.
#
# Clone: gVisor takes note of a limit on the number of processes but does not keep
# it. Changed, it does, for all processes and threads in the sandbox.
#
# controlFastPath: gVisor looks every 0.4 ms whether system calls should be waited
# for actively, also when the program makes none; that costs a computing program
# some 3 % of a processor. Changed, it looks ever less often, down to every 26 ms,
# until system calls are made again.
#
# runApp: if a process in which gVisor runs the program's code is killed from
# outside, gVisor ends the program's process as if it had been sent SIGKILL, and
# nobody can tell; if it dies while memory is given to it, as if it had been sent
# SIGSEGV. Changed, the sandbox ends, saying so: its program is lost.
#
# executeSyscall: nobody learns that a program wanted what the sandbox does not
# have, a network or a file to be written outside its folder, if the program copes
# with the error. Changed, such calls are noted, and containerManager.Denied, a
# request over the sandbox's control socket, answers them: the files
# denied_calls.go.in and denied_rpc.go.in are added.
set -eu
go=${GO:-go}
here=$(cd "$(dirname "$0")" && pwd)
module=$($go -C "$here" mod download -json gvisor.dev/gvisor | sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p')
rm -rf "$1"
mkdir -p "$1"
dir=$(cd "$1" && pwd)
cp -R "$module" "$dir/src"
chmod -R u+w "$dir/src"

# change FILE FUNCTION FROM TO: in a function, the only line that is FROM (but
# for white space) becomes TO.
change() {
	awk -v head="$2" -v from="$3" -v to="$4" '
		index($0, head) == 1 { inside = 1 }
		{ bare = $0; gsub(/^[ \t]+/, "", bare) }
		inside && bare == from { print to; changed++; next }
		/^}/ { inside = 0 }
		{ print }
		END { exit changed != 1 }
	' "$dir/src/$1" >"$dir/changed" && mv "$dir/changed" "$dir/src/$1" || { echo "gVisor has changed: $1 is not what sandbox/patch.sh expects" >&2; exit 1; }
}
change pkg/sentry/fsimpl/host/host.go 'func (f *fileDescription) Write(' \
	'if isBlockError(err) {' \
	'if isBlockError(err) || err == nil && n < src.NumBytes() && i.epollable {'
cp "$here/write_restart.go.in" "$dir/src/pkg/sentry/syscalls/linux/write_restart.go"
change pkg/sentry/syscalls/linux/sys_read_write.go 'func Write(' \
	't.IOUsage().AccountWriteSyscall(n)' \
	't.IOUsage().AccountWriteSyscall(n); if restartWrite(t, fd, addr, int64(si), n, err) { return 0, nil, linuxerr.ERESTART_RESTARTBLOCK }'
change pkg/sentry/kernel/task_signals.go 'func (t *Task) deliverSignal(' \
	't.Arch().SetReturn(uintptr(-ExtractErrno(linuxerr.EINTR, -1)))' \
	't.Arch().SetReturn(uintptr(-ExtractErrno(linuxerr.EINTR, -1))); if p, ok := t.syscallRestartBlock.(interface{ Partial() uintptr }); ok && sre == linuxerr.ERESTART_RESTARTBLOCK { t.Arch().SetReturn(p.Partial()) }'
change pkg/sentry/kernel/task_clone.go 'func (t *Task) Clone(' \
	'if args.SetTID != 0 {' \
	'if uint64(t.PIDNamespace().NumTasks()) >= t.tg.limits.Get(limits.ProcessCount).Cur { return 0, nil, linuxerr.EAGAIN }; if args.SetTID != 0 {'
change pkg/sentry/kernel/task_clone.go 'import (' \
	'"gvisor.dev/gvisor/pkg/sentry/inet"' \
	'"gvisor.dev/gvisor/pkg/sentry/inet"; "gvisor.dev/gvisor/pkg/sentry/limits"'
change pkg/sentry/platform/systrap/metrics.go 'func controlFastPath(' \
	'fastPathContextLimit = uint32(maxSysmsgThreads * 2)' \
	'fastPathContextLimit = uint32(maxSysmsgThreads * 2); quiet := 0'
change pkg/sentry/platform/systrap/metrics.go 'func controlFastPath(' \
	'time.Sleep(recordingPeriod)' \
	'time.Sleep(recordingPeriod << quiet); if fastpath.usedStubFastPath.Load() || fastpath.usedSentryFastPath.Load() { quiet = 0 } else if quiet < 6 { quiet++ }'
change pkg/sentry/kernel/task_run.go 'func (app *runApp) execute(' \
	't.Warningf("Unexpected SwitchToApp error: %v", err)' \
	'panic(fmt.Sprintf("a process that ran the code of the program was killed: %v", err))'
change pkg/sentry/kernel/task_run.go 'func (app *runApp) execute(' \
	'// Is this a vsyscall that we need emulate?' \
	'if err.Error() == "subprocess died" { panic("a process that ran the code of the program was killed while it was given memory") }'
cp "$here/denied_calls.go.in" "$dir/src/pkg/sentry/kernel/denied_calls.go"
cp "$here/denied_rpc.go.in" "$dir/src/runsc/boot/denied_rpc.go"
change pkg/sentry/kernel/task_syscall.go 'func (t *Task) executeSyscall(' \
	'rval, ctrl, err = fn(t, sysno, args)' \
	'rval, ctrl, err = fn(t, sysno, args); noteCall(t, sysno, args, err)'

cp "$here/go.sum" "$dir/go.sum"
{ cat "$here/go.mod"; echo "replace gvisor.dev/gvisor => $dir/src"; } >"$dir/go.mod"
