#!/bin/sh
# Installs the system packages that make targets need and that are missing.
# Go and make are expected; everything in Go comes through the module files.
set -eu

missing=""
# The race detector links through a C compiler; tests and the demo move C and
# Python programs about.
command -v "${CC:-cc}" >/dev/null 2>&1 || missing="$missing gcc libc6-dev"
command -v python3 >/dev/null 2>&1 || missing="$missing python3"
command -v flock >/dev/null 2>&1 || missing="$missing util-linux"

[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null 2>&1; then
	echo "missing:$missing (no apt-get here, please install them by hand)" >&2
	exit 1
fi
sudo=""
[ "$(id -u)" -eq 0 ] || sudo="sudo"
echo "installing:$missing"
$sudo apt-get update -q
# shellcheck disable=SC2086 # a list of package names
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -q -y --no-install-recommends $missing
