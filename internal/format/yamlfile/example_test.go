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
	found := top.Mapping(
		yamlfile.Set("name", &name, yamlfile.Value.Name),
		yamlfile.Set("bake", &bake, yamlfile.Value.Duration),
		yamlfile.Key("serves", func(v yamlfile.Value) { serves = v.Whole(1, 100) }),
	)
	found.Need("name", "the recipe's name")
	fmt.Println(name, bake, serves)
	fmt.Println(top.Err())
	// Output:
	// bread 40m0s 0
	// bread.yaml:3: serve: unknown field, did you mean serves?
}
