#!/bin/sh
# A pipeline of processes that are all alive at once, and children one after the
# other. The last step is taken only when there is a file "go".
i=0
while [ $i -lt "$1" ]; do
	while [ $i -eq $(($1 - 1)) ] && [ ! -e go ]; do sleep .02; done
	echo "step $i"
	i=$((i + 1))
	sleep .02
done | while read -r word n; do
	echo "$word $n $(echo "$n" | cksum)"
done | tee pipeline.out | {
	count=0
	while read -r line; do
		count=$((count + 1))
		echo "$line line $count"
	done
	exit 3
}
rc=$?
(
	sleep .1
	exit 4
) &
wait $!
echo "child $? last $rc"
exit $rc
