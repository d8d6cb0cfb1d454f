#!/bin/sh
# Builds godwit and godwit-sandbox at the same time, which together keep two cores busy
# for two or three minutes the first time, and says how far it is. The arguments are the
# Makefile's targets for the two.
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}
MAKE=${MAKE:-make}
dir=$(mktemp -d)
pids=""
trap 'rm -rf "$dir"' EXIT
trap 'kill $pids 2>/dev/null || :; exit 130' HUP INT TERM

# Nothing to say where everything is in the cache: that takes a second or two.
for target; do
	name=$(basename "$target")
	(
		rc=0
		$MAKE --no-print-directory "$target" BUILDFLAGS=-v >"$dir/$name.log" 2>&1 || rc=$?
		echo "$rc" >"$dir/$name.part" && mv "$dir/$name.part" "$dir/$name.rc"
	) &
	pids="$pids $!"
done

# How many packages there are; known when the modules have been downloaded.
(
	$GO list -deps ./cmd/godwit | wc -l >"$dir/godwit.all"
	$GO -C sandbox list -deps . | wc -l >"$dir/godwit-sandbox.all"
) 2>/dev/null &
pids="$pids $!"

# compiled NAME: what the go command says of each package is its path.
compiled() {
	all=""
	[ ! -s "$dir/$1.all" ] || all=$(tr -d ' ' <"$dir/$1.all")
	echo "$(grep -c -E '^[a-z][^ ]*(/[^ ]*)*$' "$dir/$1.log" || :)${all:+ of $all} packages"
}

# progress: one line about all.
progress() {
	text=""
	for target; do
		name=$(basename "$target")
		if [ -e "$dir/$name.rc" ]; then
			text="$text, $name built"
		elif tail -n 1 "$dir/$name.log" | grep -q '^go: downloading'; then
			text="$text, $name: $(tail -n 1 "$dir/$name.log" | sed 's/^go: //')"
		else
			text="$text, $name: $(compiled "$name")"
		fi
	done
	echo "${text#, }"
}

seconds=0
while :; do
	left=""
	for target; do
		[ -e "$dir/$(basename "$target").rc" ] || left=yes
	done
	[ -n "$left" ] || break
	sleep 1
	seconds=$((seconds + 1))
	if [ -t 1 ]; then
		[ $seconds -lt 3 ] || printf '\r\033[Kbuilding (%d s): %s' "$seconds" "$(progress "$@")"
	elif [ $((seconds % 15)) -eq 3 ]; then
		echo "building ($seconds s): $(progress "$@")"
	fi
done
wait
[ ! -t 1 ] || printf '\r\033[K'
for target; do
	name=$(basename "$target")
	if [ "$(cat "$dir/$name.rc")" != 0 ]; then
		grep -v -E '^[a-z][^ ]*(/[^ ]*)*$' "$dir/$name.log" >&2 || :
		echo "$name could not be built" >&2
		exit 1
	fi
done
