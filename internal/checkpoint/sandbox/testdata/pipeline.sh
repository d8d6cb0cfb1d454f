#!/bin/sh
# A pipeline of processes that are all alive at once, and children one after the
# other.
i=0
while [ $i -lt "$1" ]; do
	echo "step $i"
	i=$((i + 1))
	sleep .02
done | while read -r word n; do
	echo "$word $n $(echo "$n" | cksum)"
done | tee pipeline.out | awk '{ n++; print $0, n; fflush() } END { exit 3 }'
rc=$?
(
	sleep .1
	exit 4
) &
wait $!
echo "child $? awk $rc"
exit $rc
