// Package yamlfile reads the YAML files that users write, strictly: every
// field is known and stands there once, every value has its type and its
// bounds, and the first mistake comes back as one *badinput.Error with file,
// line, field and value. It decides how such files are written (units of time
// and size, what an alias may cost, what counts as left out) and how mistakes
// are told. It must not know what a file is about: no platform, no scenario, no
// job.
//
// A reader asks a Value for what it expects there and need not look back after
// each field: the file keeps its first mistake, everything asked for in vain is
// a zero value, and loops over List and Entries end. Err tells how it went.
//
//	top, err := yamlfile.Parse(name, "a recipe", data)
//	if err != nil {
//		return nil, err
//	}
//	var r Recipe
//	found := top.Mapping(
//		yamlfile.Set("name", &r.Name, yamlfile.Value.Name),
//		yamlfile.Set("bake", &r.Bake, yamlfile.Value.Duration),
//		yamlfile.Key("serves", func(v yamlfile.Value) { r.Serves = v.Whole(1, 100) }),
//	)
//	found.Need("name", "the recipe's name")
//	return &r, top.Err()
package yamlfile
