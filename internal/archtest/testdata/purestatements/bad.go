//as internal/sched/engine

package engine

type step struct {
	done chan bool // want `uses a channel: .* one thread`
}

func run(s step) {
	go run(s)      // want `starts a goroutine`
	s.done <- true // want `sends on a channel`
	<-s.done       // want `receives from a channel`
	select {       // want `selects on channels`
	default:
	}
	defer func() {}()
}

func init() {} // want `declares func init`

func (step) init() {}
