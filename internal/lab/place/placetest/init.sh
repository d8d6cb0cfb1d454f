# The first process of the hosts: ETC HEAD-ADDRESS [NODE ADDRESS]...
# Makes them, says so, and ends, and all of them with it, when its input ends.
set -e
etc=$1
head=$2
shift 2
exec 3<&0 </dev/null

mount --make-rprivate /
mount -t proc proc /proc
# resolv.conf is empty: without a server other names would be waited for in vain.
for f in "$etc"/*; do
	[ ! -f "/etc/${f##*/}" ] || mount --bind "$f" "/etc/${f##*/}"
done

# The switch is on the head.
hostname head
ip link set lo up
ip link add br0 type bridge
ip addr add "$head/24" dev br0
ip link set br0 up

here=$(readlink /proc/self/ns/net)
while [ $# -gt 0 ]; do
	name=$1
	addr=$2
	shift 2
	unshare --net --uts sleep infinity >/dev/null 2>&1 &
	pid=$!
	while [ "$(readlink "/proc/$pid/ns/net")" = "$here" ]; do
		sleep 0.01
	done
	ip link add eth0 netns "$pid" type veth peer name "port-$name"
	ip link set "port-$name" master br0 up
	nsenter -t "$pid" -n -u sh -ec "hostname $name; ip link set lo up; ip addr add $addr/24 dev eth0; ip link set eth0 up"
	echo "$name $pid"
done
echo ready

# A shell that waits also fetches the dead that nobody else fetches.
cat <&3 >/dev/null &
exec 3<&- >/dev/null 2>&1
wait $!
