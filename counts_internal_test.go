package evenkeel

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

// A slot fills one cache line and a ledger two, so that neighbours do not slow each
// other down, and hold no pointer, so that the allocator puts nothing before them.
func TestSlotsAndLedgersFillOneLineWithoutPointers(t *testing.T) {
	assert.EqualValues(t, cacheLine, unsafe.Sizeof(slot{}))
	assert.EqualValues(t, 2*cacheLine, unsafe.Sizeof(ledger{}))
	for _, of := range []reflect.Type{reflect.TypeFor[slot](), reflect.TypeFor[ledger]()} {
		for i := range of.NumField() {
			assert.False(t, pointsAnywhere(of.Field(i).Type), "%v.%s", of, of.Field(i).Name)
		}
	}
}

func pointsAnywhere(of reflect.Type) bool {
	switch of.Kind() {
	case reflect.Struct:
		for i := range of.NumField() {
			if pointsAnywhere(of.Field(i).Type) {
				return true
			}
		}
		return false
	case reflect.Array:
		return of.Len() > 0 && pointsAnywhere(of.Elem())
	case reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		return false
	}
	return true
}

// Every slot and every ledger begins a line, for pools of any size, and also for those
// that join later one by one.
func TestSlotsAndLedgersBeginALine(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 10, 100, 1_000} {
		names := make([]int, n)
		for i := range names {
			names[i] = i
		}
		pool, err := NewPool(Config{}, names...)
		assert.NoError(t, err)
		for range 3 {
			names = append(names, len(names))
			assert.NoError(t, pool.Replace(names...))
		}
		lines := map[uintptr]bool{}
		for _, m := range pool.members {
			for _, at := range []uintptr{uintptr(unsafe.Pointer(m.slot)), uintptr(unsafe.Pointer(m.ledger))} {
				assert.Zero(t, at%cacheLine, "of %d", n)
				assert.False(t, lines[at/cacheLine], "of %d: two on one line", n)
				lines[at/cacheLine] = true
			}
		}
	}
}
