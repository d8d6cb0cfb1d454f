#!/bin/sh
# Runs the tests of the packages that start goroutines, or test with them,
# under the race detector. The pure packages have none (archtest sees to
# that), so running them ten times slower would find nothing.
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}

dirs=$(grep -rlE --include='*.go' --exclude-dir=testdata --exclude-dir=build --exclude-dir=tools \
	'^[[:space:]]*(go (func\(|[A-Za-z_][A-Za-z0-9_.]*\()|synctest\.Test\()|\.Go\(func\(' . |
	xargs -r -n1 dirname | grep -vx ./sandbox | sort -u) # ./sandbox is a module of its own
if [ -z "$dirs" ]; then
	echo "race: no package starts goroutines"
	exit 0
fi
sh scripts/deps.sh
# Who is killed at random is a process without the detector: a few will do here.
# shellcheck disable=SC2086 # a list of directories
GODWIT_KILLS=${GODWIT_KILLS:-20} CGO_ENABLED=1 exec "$GO" test -race -count=1 $dirs
