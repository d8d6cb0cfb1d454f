package store

import (
	"reflect"
	"testing"
)

func TestABatchWithAnythingInItIsNotEmpty(t *testing.T) {
	if !(&Batch{First: 7}).IsEmpty() {
		t.Error("a batch with nothing in it is not empty")
	}
	for i := range reflect.TypeFor[Batch]().NumField() {
		var b Batch
		field := reflect.ValueOf(&b).Elem().Field(i)
		switch field.Kind() {
		case reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		case reflect.Map:
			field.Set(reflect.ValueOf(map[string]string{"a": "b"}))
		default:
			continue
		}
		if b.IsEmpty() {
			t.Errorf("a batch with %s is empty", reflect.TypeFor[Batch]().Field(i).Name)
		}
	}
}
