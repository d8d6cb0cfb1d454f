#!/bin/sh
# pi.sh STEPS: integrates 4/(1+x*x) from 0 to 1 by the midpoint rule, in whole numbers,
# and prints pi. It knows nothing of Godwit: it has no deadline, reads no clock and
# cannot save itself.
steps=$1 points=1500
all=$((steps * points)) step=0 i=0 total=0
while [ $step -lt $steps ]; do
	step=$((step + 1)) end=$((step * points))
	while [ $i -lt $end ]; do
		x=$(((2 * i + 1) * 500000000 / all))
		total=$((total + 4000000000000000000 / (1000000000 + x * x / 1000000000)))
		i=$((i + 1))
	done
	echo "step $step/$steps"
done
echo "pi = $((total / all)) / 1000000000"
