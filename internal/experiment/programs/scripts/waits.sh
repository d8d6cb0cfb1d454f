#!/bin/sh
# Waits for something outside again and again: waits.sh TIMES
i=0
while [ $i -lt "$1" ]; do
	i=$((i + 1))
	echo "answer $i"
	sleep 0.2
done
