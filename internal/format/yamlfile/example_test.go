package yamlfile_test

import (
	"fmt"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

func Example() {
	const text = `name: bread
bake: 40m
serve: 4
`
	top, err := yamlfile.Parse("bread.yaml", "a recipe", []byte(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	var name string
	var serves int
	var bake time.Duration
	found := top.ReadMapping(
		yamlfile.StoreField("name", &name, yamlfile.Value.Name),
		yamlfile.StoreField("bake", &bake, yamlfile.Value.Duration),
		yamlfile.ReadField("serves", func(v yamlfile.Value) { serves = v.WholeNumber(1, 100) }),
	)
	found.RequireField("name", "the recipe's name")
	fmt.Println(name, bake, serves)
	fmt.Println(top.Err())
	// Output:
	// bread 40m0s 0
	// bread.yaml:3: serve: unknown field, did you mean serves?
}
