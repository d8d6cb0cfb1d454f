// Command threads lets several goroutines compute and meet after every round;
// its output depends on the number of rounds alone.
package main

import (
	"fmt"
	"hash/fnv"
	"os"
	"strconv"
	"sync"
)

func main() {
	rounds, err := strconv.Atoi(os.Args[1])
	if err != nil {
		os.Exit(2)
	}
	const workers = 4
	state := [workers]uint64{1, 2, 3, 4}
	out, err := os.Create("threads.out")
	if err != nil {
		os.Exit(2)
	}
	for r := range rounds {
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				x := state[w]
				for range 8_000_000 {
					x ^= x << 13
					x ^= x >> 7
					x ^= x << 17
				}
				state[w] = x
			})
		}
		wg.Wait()
		h := fnv.New64a()
		fmt.Fprint(h, state)
		fmt.Printf("round %d %x\n", r, h.Sum64())
		fmt.Fprintln(out, r, state)
	}
	if out.Close() != nil {
		os.Exit(1)
	}
	os.Exit(6)
}
