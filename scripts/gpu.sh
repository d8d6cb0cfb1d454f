#!/bin/sh
# A training loop on a GPU, moved between two local clusters by a broker of its own:
# twice by `godwit migrate`, and with its agent killed in the midst of saving or moving.
# Every run must end with the weights of an undisturbed one. By hand, on a machine with
# an NVIDIA GPU and PyTorch: `make gpu-test`; what it says stands in
# docs/experiments/gpu.md.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
godwit=${GODWIT:-$root/build/godwit}
program=${PROGRAM:-python3 train.py 1500}
kills=${KILLS:-3}
dir=$(mktemp -d)
export GODWIT_STATE="$dir/state" CUDA_VISIBLE_DEVICES="${CUDA_VISIBLE_DEVICES:-0}"
trap '"$godwit" up --stop >/dev/null 2>&1 || :; rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM

printf 'clusters:\n  - {name: left, slots: 2}\n  - {name: right, slots: 2}\nintervals: {sample: 500ms}\n' >"$dir/config.yaml"
"$godwit" up --config "$dir/config.yaml" >"$dir/broker.log" 2>&1 &

now() { date +%s.%N; }
since() { echo "$(now) $1" | awk '{printf "%.2f s", $1 - $2}'; }

# start NAME: starts the program in a folder of its own and prints its number.
start() {
	mkdir "$dir/$1"
	cp "$root/examples/jobs/train.py" "$dir/$1"
	"$godwit" run --detach --on left --on right --checkpoint sandbox --workdir "$dir/$1" -- $program
}

# field JOB NAME: one field of what is known of a job.
field() { "$godwit" show "$1" -o json | python3 -c 'import json,sys; print(json.load(sys.stdin).get(sys.argv[1]))' "$2"; }

# await_steps JOB N: waits until the job has written N lines of steps.
await_steps() {
	for _ in $(seq 600); do
		[ "$("$godwit" logs "$1" 2>/dev/null | grep -c '^step')" -lt "$2" ] || return 0
		sleep 0.2
	done
	echo "job $1 does not get on:" >&2
	"$godwit" explain "$1" >&2
	exit 1
}

# finish JOB NAME: waits for the end and compares what was computed.
finish() {
	if ! "$godwit" wait "$1" >/dev/null 2>&1 || ! cmp -s "$dir/quiet/weights.txt" "$dir/$2/weights.txt"; then
		echo "FAILED: $2 (job $1)"
		"$godwit" explain "$1"
		"$godwit" logs "$1" | tail -n 20
		exit 1
	fi
}

for _ in $(seq 100); do "$godwit" clusters >/dev/null 2>&1 && break; sleep 0.2; done
"$godwit" doctor | grep -i gpu || :
began=$(now)
quiet=$(start quiet)
"$godwit" wait "$quiet" >/dev/null || { "$godwit" explain "$quiet"; "$godwit" logs "$quiet"; exit 1; }
echo "undisturbed: $(since "$began"), weights $(cut -c1-16 "$dir/quiet/weights.txt")"

job=$(start moved)
for move in 1 2; do
	await_steps "$job" $((5 * move))
	began=$(now)
	"$godwit" migrate "$job" >/dev/null
	echo "move $move: $(since "$began"), now on $(field "$job" cluster)"
done
finish "$job" moved
echo "moved twice: the same weights, $(field "$job" migrations) migrations"

for kill in $(seq "$kills"); do
	job=$(start "killed$kill")
	await_steps "$job" $((3 + kill))
	"$godwit" migrate "$job" >/dev/null 2>&1 &
	migrate=$!
	sleep "$(awk -v n="$kill" 'BEGIN {srand(n + systime()); printf "%.2f", rand() * 3}')"
	# Of what belongs to this broker, and to nobody else: an agent, or the sandbox of the program.
	victim=$(grep -lsaF "$dir/state" /proc/[0-9]*/cmdline | sed 's|/proc/\([0-9]*\)/.*|\1|' | while read -r pid; do
		tr "\\0" " " 2>/dev/null <"/proc/$pid/cmdline" | grep -qE ' (agent|boot|supervise) ' && echo "$pid"; done | shuf -n 1)
	what=$(tr '\0' ' ' 2>/dev/null <"/proc/${victim:-0}/cmdline" | grep -oE ' (agent|boot|supervise) ' || :)
	[ -z "$victim" ] || kill -9 "$victim" 2>/dev/null || :
	wait "$migrate" 2>/dev/null || :
	finish "$job" "killed$kill"
	echo "killed $kill:${what:- nothing} was killed while the job was moved; the same weights, $(field "$job" migrations) migrations"
done
