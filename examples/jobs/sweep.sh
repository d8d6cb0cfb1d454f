#!/bin/sh
#GODWIT --name sweep --deadline 5m
#GODWIT --array 1-4%2
# One job for each index: godwit submit examples/jobs/sweep.sh
exec python3 examples/jobs/pi.py $((GODWIT_INDEX * 200))
