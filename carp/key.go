package carp

import "context"

// keyContext is the type of the context's key for the call's key.
type keyContext struct{}

// WithKey returns a context whose calls have the key, for Lease, LeaseFor and evenkeel.Do.
// "" takes away a key that ctx has.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyContext{}, key)
}

// keyOf returns the key of a context, "" if it has none.
func keyOf(ctx context.Context) string {
	if ctx == nil {
		return "" // the dispatcher refuses the call
	}
	key, _ := ctx.Value(keyContext{}).(string)
	return key
}
