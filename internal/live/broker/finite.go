package broker

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"

	"github.com/godwit-hpc/godwit/internal/live/store"
)

// commitEncodable writes a batch. Numbers are checked where they come in; should one that
// is not finite get into a record all the same, that number is given up, not the broker.
func (b *Broker) commitEncodable(ctx context.Context, batch *store.Batch) error {
	err := b.opt.Store.CommitBatch(ctx, batch)
	var number *json.UnsupportedValueError
	if !errors.As(err, &number) {
		return err
	}
	b.opt.Log.Error("a number that cannot be stored is left out", "number", number.Str, "error", err)
	makeFinite(reflect.ValueOf(batch).Elem())
	return b.opt.Store.CommitBatch(ctx, batch)
}

// makeFinite puts 0 in place of every number within a value that is none or infinite, and
// removes those of maps. The value must be one that can be set.
func makeFinite(v reflect.Value) {
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		if !isFinite(v.Float()) {
			v.SetFloat(0)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				makeFinite(f)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			makeFinite(v.Index(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			makeFinite(v.Elem())
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if x := reflect.ValueOf(v.MapIndex(key).Interface()); x.CanFloat() && !isFinite(x.Float()) {
				v.SetMapIndex(key, reflect.Value{})
			}
		}
	}
}

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
