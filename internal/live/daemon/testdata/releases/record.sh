#!/bin/sh
# record.sh BINARY NAME: has the broker of a release write a state folder, and packs it
# as NAME.tar.gz beside this file. See README.md.
set -eu
binary=$(realpath "$1")
name=$2
here=$(cd "$(dirname "$0")" && pwd)
top=/tmp/godwit-recorded
rm -rf "$top"
mkdir -p "$top/jobs"
cd "$top/jobs"
export GODWIT_STATE=$top/state GODWIT_CONFIG=$top/config.yaml HOME=$top
printf 'clusters:\n  - {name: a, slots: 2, speed: 1}\nintervals: {sample: 200ms}\nweather: {probe: off}\n' >"$GODWIT_CONFIG"
"$binary" up --config "$GODWIT_CONFIG" >"$top/log" 2>&1 &
broker=$!
until "$binary" ps >/dev/null 2>&1; do sleep 0.1; done

# submit NAME COMMAND [MORE LINES]: prints the number of the job.
submit() {
	printf 'name: %s\nrun: %s\ncheckpoint: restart\n%b' "$1" "$2" "${3:-}" >"$1.yaml"
	"$binary" submit "$1.yaml" | sed 's/[^0-9]*\([0-9]*\).*/\1/' # of an array: that of the first
}
first=$(submit well 'echo one; echo two >&2')
"$binary" wait "$first"
failed=$(submit failed 'echo no; exit 3')
"$binary" wait "$failed" || true
retried=$(submit retried 'echo again; exit 4' 'retry: {max: 1, on: failed}\n')
"$binary" wait "$retried" || true
array=$(submit array 'echo index $GODWIT_INDEX' 'array: 1-3\n')
"$binary" wait "$array"
# One ends while there is no broker, one is killed with its agent; both slots are taken.
ends=$(submit ends "echo begun; until [ -e $top/end ]; do sleep 0.05; done; echo ended")
killed=$(submit killed 'echo begun; case $PWD in *.1/work) sleep 7654;; esac; echo ended' 'retry: {max: 5}\n')
for id in "$ends" "$killed"; do
	until "$binary" logs "$id" 2>/dev/null | grep -q begun; do sleep 0.1; done
done
submit waits 'echo after the others' >/dev/null
submit held 'echo after ends' "after: $ends\n" >/dev/null
submit heldarray 'echo element $GODWIT_INDEX' "after: $ends\narray: 1-3%1\n" >/dev/null
submit never 'echo never' "after: ['afternotok:$ends']\n" >/dev/null
stopped=$(submit cancelled 'echo never' "after: $killed\n")
"$binary" cancel "$stopped" >/dev/null

kill -9 "$broker"
wait "$broker" 2>/dev/null || true
agents=$(pgrep -f "agent $GODWIT_STATE" || true)
touch "$top/end"
until ls "$GODWIT_STATE"/clusters/a/"$ends".*/exit.json >/dev/null 2>&1; do sleep 0.1; done
sleep 1
# shellcheck disable=SC2086 # a list of processes
kill -9 $agents 2>/dev/null || true
pkill -9 -f 'sleep [7]654' || true
tar -C "$top" -cf - --sort=name --owner=0 --group=0 --exclude=trash --exclude='*.sock' --exclude='*-shm' state | gzip -9n >"$here/$name.tar.gz"
ls -l "$here/$name.tar.gz"
