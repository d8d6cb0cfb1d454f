#!/bin/sh
# Makes files of numbers and sorts them: sorts.sh FILES LINES
i=0
while [ $i -lt "$1" ]; do
	i=$((i + 1))
	awk -v n="$2" -v s="$i" 'BEGIN { srand(s); for (i = 0; i < n; i++) printf "%d\n", rand() * 1e9 }' >numbers
	LC_ALL=C sort -n -S 16M numbers >sorted
done
tail -n 1 sorted
