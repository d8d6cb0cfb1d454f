package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// Field is a line of a cluster in a file of settings.
type Field struct{ Key, Value string }

// AddCluster is the text of settings with another cluster at the end of the list.
// Comments stay.
func AddCluster(file string, text []byte, fields []Field) ([]byte, error) {
	doc, list, err := clusterNodes(file, text)
	if err != nil {
		return nil, err
	}
	entry := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range fields {
		var value yaml.Node
		if err := yaml.Unmarshal([]byte(f.Value), &value); err != nil || len(value.Content) != 1 {
			return nil, &badinput.Error{Field: f.Key, Value: f.Value, Want: "a value as YAML has it"}
		}
		entry.Content = append(entry.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: f.Key}, value.Content[0])
	}
	list.Content = append(list.Content, entry)
	return encodeDocument(doc)
}

// RemoveCluster is the text of settings without a cluster.
func RemoveCluster(file string, text []byte, name string) ([]byte, error) {
	doc, list, err := clusterNodes(file, text)
	if err != nil {
		return nil, err
	}
	var names []string
	for i, c := range list.Content {
		for k := 0; k+1 < len(c.Content); k += 2 {
			if c.Content[k].Value != "name" {
				continue
			}
			names = append(names, c.Content[k+1].Value)
			if c.Content[k+1].Value == name {
				list.Content = slices.Delete(list.Content, i, i+1)
				return encodeDocument(doc)
			}
		}
	}
	return nil, &badinput.Error{File: file, Field: "cluster", Value: name,
		Want: badinput.UnknownName("cluster", name, names)}
}

// clusterNodes finds the list of clusters; it is made if there is none.
func clusterNodes(file string, text []byte) (doc, list *yaml.Node, err error) {
	doc = new(yaml.Node)
	if err := yaml.Unmarshal(text, doc); err != nil {
		return nil, nil, &badinput.Error{File: file, Want: "valid YAML", Err: err}
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, nil, &badinput.Error{File: file, Want: "settings of Godwit: fields such as clusters:, one a line"}
	}
	top := doc.Content[0]
	for i := 0; i+1 < len(top.Content); i += 2 {
		if top.Content[i].Value == "clusters" {
			if list = top.Content[i+1]; list.Kind != yaml.SequenceNode {
				return nil, nil, &badinput.Error{File: file, Field: "clusters", Want: "a list of clusters"}
			}
			return doc, list, nil
		}
	}
	list = &yaml.Node{Kind: yaml.SequenceNode}
	top.Content = append(top.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "clusters"}, list)
	return doc, list, nil
}

func encodeDocument(doc *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := errors.Join(e.Encode(doc), e.Close())
	return b.Bytes(), err
}

// WriteSettings puts settings in place as a whole, if they are sound.
func WriteSettings(file string, text []byte, cpus []int) error {
	if _, err := ReadSettings(file, text, cpus); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target // a link stays one
	}
	mode := os.FileMode(0o600)
	if s, err := os.Stat(file); err == nil {
		mode = s.Mode().Perm()
	}
	next := file + ".new"
	if err := os.WriteFile(next, text, mode); err != nil {
		return err
	}
	if err := os.Rename(next, file); err != nil {
		return fmt.Errorf("the settings are in %s: %w", next, err)
	}
	return nil
}
