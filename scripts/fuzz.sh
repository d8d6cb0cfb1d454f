#!/bin/sh
# Runs every fuzz target of the module for the time given, one at a time
# because the go command fuzzes one target per run.
#   scripts/fuzz.sh 3s
# With a second argument it runs only every so-many-th target, another part each
# day of the year: what a test run has time for.
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}
time=${1:?how long each target runs, e.g. 3s}
of=${2:-1}
part=$(($(date +%j | sed 's/^0*//') % of))

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# run fuzzes one target and keeps its output in $log.
run() {
	"$GO" test -run='^$' -fuzz="^$2\$" -fuzztime="$time" -fuzzminimizetime=1s "$1" >"$log" 2>&1
}

failed=0
count=0
seen=0
for file in $(grep -rl --include='*_test.go' --exclude-dir=testdata --exclude-dir=build '^func Fuzz' . | sort); do
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
		dir=$(dirname "$file")
		seen=$((seen + 1))
		[ $((seen % of)) -eq "$part" ] || continue
		count=$((count + 1))
		if run "$dir" "$target"; then
			echo "ok    $dir $target: $(grep '^fuzz: elapsed' "$log" | tail -n 1)"
			continue
		fi
		# When the time ends while a worker is busy, the go command may report
		# its own deadline as a failure of the target. A real finding always
		# comes with a failing input, so only a run without one is repeated.
		if grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input' "$log" && run "$dir" "$target"; then
			echo "ok    $dir $target (second try: the first ran into the time limit)"
			continue
		fi
		echo "FAIL  $dir $target"
		cat "$log"
		failed=$((failed + 1))
	done
done
echo "fuzz: $count targets, $failed failed, $time each"
[ "$failed" -eq 0 ]
