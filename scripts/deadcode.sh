#!/bin/sh
# Fails if there are functions that no program below cmd reaches. What only the tests of its
# own package call belongs into a _test.go file; what tests of other packages call by design
# stands in scripts/deadcode.allow with the reason. An entry there that is not dead any more
# is an error too, so that the list stays short.
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

$GO tool -modfile=tools/go.mod deadcode \
	-f '{{range .Funcs}}{{printf "%s.%s %s:%d\n" $.Path .Name .Position.File .Position.Line}}{{end}}' ./cmd/... >"$tmp/all"
sed -e "s|^$($GO list -m)/||" -e '/^$/d' "$tmp/all" >"$tmp/dead"
sed -e 's/#.*//' -e '/^[[:space:]]*$/d' scripts/deadcode.allow >"$tmp/allowed"
awk 'FILENAME == ARGV[1] { allowed[$1] = 1; next }
	{ dead[$1] = 1 }
	!($1 in allowed) { print $2 ": no program calls " $1; bad = 1 }
	END {
		for (name in allowed)
			if (!(name in dead)) { print "scripts/deadcode.allow: " name " is gone, or a program calls it"; bad = 1 }
		exit bad
	}' "$tmp/allowed" "$tmp/dead"
