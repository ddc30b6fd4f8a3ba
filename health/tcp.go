package health

import (
	"context"
	"fmt"
	"net"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/internal/addr"
)

// TCP is a probe that passes when a connection can be made. It sends nothing and
// closes the connection at once.
type TCP[T comparable] struct {
	// Address returns the address of a backend: "host:port", or a URL of scheme
	// http or https, of which host and port count. Any other address fails the
	// probe. nil: the backend itself, which must be a string or have a String
	// method that returns the address.
	Address func(backend T) string

	// Dial makes the connection. nil: net.Dialer's DialContext.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

func (p TCP[T]) prepare() (func(context.Context, T) error, func(), error) {
	address, err := addressOf(p.Address, "TCP.Address")
	if err != nil {
		return nil, nil, err
	}
	dial := p.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	run := func(ctx context.Context, backend T) error {
		u, err := parseAddress(address(backend), "")
		if err != nil {
			return err
		}
		target, err := addr.HostPort(u)
		if err != nil {
			return fmt.Errorf("%w: %w", evenkeel.ErrBadBackend, err)
		}
		conn, err := dial(ctx, "tcp", target)
		if err != nil {
			return err
		}
		_ = conn.Close() // it was made: that is all that was asked
		return nil
	}
	return run, func() {}, nil
}
