#!/bin/sh
# A pipeline with children, a background job and files: pipeline.sh LINES
i=0
while [ "$i" -lt "$1" ]; do
	i=$((i + 1))
	echo "line $i"
	sleep 0.05
done | while read -r line; do
	echo "$line $(printf %s "$line" | cksum)"
done | tee copy.out | awk '{ n++; print n, $0; fflush() } END { print "lines", n }'
(
	sleep 0.2
	exit 3
) &
wait $!
echo "child $?"
sort -r copy.out >sorted.out
exit 5
