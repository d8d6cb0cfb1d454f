// Goroutines on several threads that compute, exchange values and sleep; the
// result does not depend on their order, the progress on standard output does
// not either. The last step is taken only when there is a file "go".
package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

func main() {
	steps, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	const workers = 8
	sums := make([][32]byte, workers)
	ask, answer := make(chan int), make(chan [32]byte)
	go func() {
		for n := range ask {
			answer <- sha256.Sum256([]byte(strconv.Itoa(n)))
		}
	}()
	var one sync.Mutex
	for s := range steps {
		for s == steps-1 {
			if _, err := os.Stat("go"); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		var all sync.WaitGroup
		for w := range workers {
			all.Go(func() {
				for i := range 2000 {
					sums[w] = sha256.Sum256(append(sums[w][:], byte(i), byte(s)))
				}
				one.Lock()
				defer one.Unlock()
				ask <- s*workers + w
				got := <-answer
				sums[w] = sha256.Sum256(append(sums[w][:], got[:]...))
			})
		}
		all.Wait()
		fmt.Printf("step %d %x\n", s, sums[s%workers][:4])
		time.Sleep(8 * time.Millisecond)
	}
	fmt.Printf("sum %x\n", sums)
	os.Exit(5)
}
