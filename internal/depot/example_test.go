package depot_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/godwit-hpc/godwit/internal/depot"
)

// A folder is kept as a tree, by its content: what a depot has is not sent again, and the
// folder can be made elsewhere.
func Example() {
	top, err := os.MkdirTemp("", "godwit-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(top) }()
	work, there := filepath.Join(top, "work"), filepath.Join(top, "there")
	_, _ = os.Mkdir(work, 0o700), os.Mkdir(there, 0o700)
	if err := os.WriteFile(filepath.Join(work, "input"), []byte("data\n"), 0o600); err != nil {
		fmt.Println(err)
	}
	s, err := depot.Open(filepath.Join(top, "depot"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close() }()
	ctx := context.Background()
	first, tree, _, err := depot.PushFolder(ctx, work, s, depot.PushOptions{})
	fmt.Println(len(tree.Entries), "entry,", err)
	again, _, stats, err := depot.PushFolder(ctx, work, s, depot.PushOptions{})
	fmt.Println("the same tree:", again == first, stats.New, "chunks sent the second time,", err)
	if _, err := depot.FetchTree(ctx, s, first, there); err != nil {
		fmt.Println(err)
	}
	text, err := os.ReadFile(filepath.Join(there, "input"))
	fmt.Printf("%q %v\n", text, err)
	// Output:
	// 1 entry, <nil>
	// the same tree: true 0 chunks sent the second time, <nil>
	// "data\n" <nil>
}
