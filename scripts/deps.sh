#!/bin/sh
# Installs the system packages that make targets need and that are missing.
# Go and make are expected; everything in Go comes through the module files.
set -eu

# Daemons live where ordinary users do not look.
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin:/usr/lib/gridengine"
missing=""

# need COMMAND PACKAGE...
need() {
	command -v "$1" >/dev/null 2>&1 && return
	shift
	missing="$missing $*"
}

# The race detector links through a C compiler; tests move C and Python programs about.
need "${CC:-cc}" gcc libc6-dev
need python3 python3
# The hosts of the lab are namespaces on shaped links.
need flock util-linux
need mount mount
need ip iproute2
need ps procps
need ethtool ethtool
# They are reached by SSH and run real batch systems and real programs.
need ssh openssh-client
need sshd openssh-server
need munged munge
need slurmctld slurmctld
need slurmd slurmd
need sbatch slurm-client
need sge_qmaster gridengine-master
need sge_execd gridengine-exec
need qconf gridengine-client
need mpirun openmpi-bin
need mpicc libopenmpi-dev
if ! ls /usr/lib/*/libscalapack-openmpi.so /usr/lib/libscalapack-openmpi.so >/dev/null 2>&1; then
	missing="$missing libscalapack-openmpi-dev"
fi
need valgrind valgrind
need lmp lammps
# The pages of the dashboard are looked at in a real browser; npm brings what they are bundled from.
need chromium-headless-shell chromium-headless-shell
need npm npm

[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null 2>&1; then
	echo "missing:$missing (no apt-get here, please install them by hand)" >&2
	exit 1
fi
sudo=""
[ "$(id -u)" -eq 0 ] || sudo="sudo"

# Grid Engine asks for its master and wants a mailer; nothing of either is used.
case "$missing" in
*gridengine*)
	$sudo debconf-set-selections <<-'ANSWERS'
		gridengine-master shared/gridenginemaster string localhost
		gridengine-common shared/gridenginecell string default
		gridengine-common shared/gridengineconfig boolean true
		postfix postfix/main_mailer_type select No configuration
	ANSWERS
	;;
esac

# Packages start their daemons when they are installed, on this machine's own
# network: nothing here needs those, tests start their own inside of namespaces.
policy=/usr/sbin/policy-rc.d
ours=""
log=$(mktemp)
trap 'rm -f "$log"; [ -z "$ours" ] || $sudo rm -f "$policy"' EXIT
trap 'exit 1' HUP INT TERM
if [ ! -e "$policy" ]; then
	ours=yes
	printf '#!/bin/sh\nexit 101\n' | $sudo tee "$policy" >/dev/null
	$sudo chmod 755 "$policy"
fi

# What the packages say matters only if it fails.
quietly() {
	"$@" >"$log" 2>&1 && return
	cat "$log" >&2
	return 1
}
echo "installing:$missing"
quietly $sudo apt-get -q update
# shellcheck disable=SC2086 # a list of package names
quietly $sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends $missing
