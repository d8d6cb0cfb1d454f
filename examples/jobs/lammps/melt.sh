#!/bin/sh
# melt.sh [STEPS [continue]]: runs melt.lmp on all processors there are. When it is to
# save itself (SIGTERM) LAMMPS ends its block, writes melt.restart, and ends.
steps=${1:-4000}
from=0
[ "$2" = continue ] && from=1

tell() { echo "variable stop equal $1" > stop.new && mv stop.new stop.lmp; }
tell 0
trap 'tell 1' TERM

mpirun lmp -screen none -log none -in melt.lmp -var steps "$steps" -var continue $from &
program=$!
while :; do
    wait $program
    code=$?
    kill -0 $program 2>/dev/null || exit $code # else it was the signal
done
