package fake_test

import (
	"context"
	"fmt"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/fake"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// A driver starts attempts, however often it is told to, and ends them. What an attempt says
// reaches the broker; here a function stands for it.
func Example() {
	said := make(chan wire.Message, 10)
	d := fake.New(func(r *fake.Run) {
		r.SendMessage(wire.Message{Kind: wire.Running, Method: "restart"})
		<-r.Done() // until somebody ends it
	}, func(m wire.Message) { said <- m })
	defer d.Close()
	ctx := context.Background()
	attempt := &wire.Attempt{Job: 7, Epoch: 1}
	for range 2 { // the second time it is found running
		if err := d.StartAttempt(ctx, attempt); err != nil {
			fmt.Println(err)
		}
	}
	for range 2 {
		m := <-said
		fmt.Printf("job %d, attempt %d says %s\n", m.Job, m.Epoch, m.Kind)
	}
	if err := d.ReleaseAttempt(ctx, driver.ID{Job: 7, Epoch: 1}); err != nil {
		fmt.Println(err)
	}
	fmt.Println("after its release:", d.StartAttempt(ctx, attempt))
	// Output:
	// job 7, attempt 1 says hello
	// job 7, attempt 1 says running
	// after its release: the attempt was released
}
