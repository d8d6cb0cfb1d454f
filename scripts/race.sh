#!/bin/sh
# Runs the tests of the packages that start goroutines, or test with them,
# under the race detector. The pure packages have none (archtest sees to
# that), so running them ten times slower would find nothing.
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}

# ./sandbox is a module of its own. The others are about processes and take long;
# `make race-all` runs them too.
elsewhere='./sandbox
./internal/live/daemon
./internal/e2e
./internal/e2e/browser
./internal/cli
./internal/host/checkpoint/sandbox
./internal/host/checkpoint/native
./internal/agent
./internal/agent/parallel
./internal/driver/local
./internal/driver/drivertest
./internal/driver/slurm
./internal/driver/gridengine
./internal/driver/remote
./internal/driver/remote/sshdtest
./internal/host/proctree
./internal/live/userfiles
./internal/host/calibrate
./internal/observe/measure
./internal/observe/weather/watch
./internal/lab
./internal/lab/place
./internal/experiment/adaptive
./internal/cli/demo'

dirs=$(grep -rlE --include='*.go' --exclude-dir=testdata --exclude-dir=build --exclude-dir=tools \
	'^[[:space:]]*(go (func\(|[A-Za-z_][A-Za-z0-9_.]*\()|synctest\.Test\()|\.Go\(func\(' . |
	xargs -r -n1 dirname | sort -u)
[ "${1:-}" = all ] && elsewhere=./sandbox
dirs=$(printf '%s\n' "$dirs" | grep -vxF "$elsewhere")
if [ -z "$dirs" ]; then
	echo "race: no package starts goroutines"
	exit 0
fi
sh scripts/deps.sh
# shellcheck disable=SC2086 # a list of directories
CGO_ENABLED=1 exec "$GO" test -race -vet=off -ldflags=-w -timeout 15m -count=1 $dirs
