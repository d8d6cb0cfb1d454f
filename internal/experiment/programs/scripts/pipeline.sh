#!/bin/sh
# A pipeline of filters: pipeline.sh LINES
seq 1 "$1" | awk '{ print $1 * 7919 % 1000003, $1 }' | tr 0-4 a-e | cut -d " " -f 1 | LC_ALL=C sort -u -S 16M | wc -l
