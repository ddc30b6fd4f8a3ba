package evenkeel

import "context"

// Do makes one call: it leases a backend from lb, runs fn with ctx and that backend, and
// ends the lease with what fn returned, which is also Do's result. When fn panics or
// calls runtime.Goexit the lease is released and the panic goes on unchanged. When no
// backend can be leased fn does not run and the error is Lease's.
func Do[T comparable](ctx context.Context, lb Balancer[T], fn func(ctx context.Context, backend T) error) error {
	if lb == nil || fn == nil {
		return errNilDo
	}
	lease, err := lb.Lease(ctx)
	if err != nil {
		return err
	}
	defer lease.Release()
	err = fn(ctx, lease.Backend())
	lease.Done(err)
	return err
}
