package client

import (
	"context"
	"errors"
	"net/http"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/discover"
	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/p2c"
)

// Client is an http.Client whose requests go to the servers of one service. Make one with
// New or NewWith, and Close it. It is safe for concurrent use.
type Client struct {
	*http.Client
	pool     *evenkeel.Pool[string]
	follower *discover.Follower
}

// New returns a Client for a target such as "dns://orders.internal:8080"; discover.Parse
// says which there are. ctx bounds the wait for the first answer, as discover.Follow has
// it. The error matches evenkeel.ErrBadConfig or discover.ErrNoAnswer; nothing runs then.
func New(ctx context.Context, target string) (*Client, error) {
	source, err := discover.Parse(target)
	if err != nil {
		return nil, err
	}
	return NewWith(ctx, source, Config{Pool: evenkeel.Config{Name: target}})
}

// NewWith is New for any source of servers, with the set-up of cfg. The error may also
// match evenkeel.ErrBadBackend, if the first answer holds a backend that
// lbhttp.ParseBackend refuses.
func NewWith(ctx context.Context, source discover.Source[string], cfg Config) (*Client, error) {
	pool, err := evenkeel.NewPool[string](cfg.Pool)
	if err != nil {
		return nil, err
	}
	follower, err := discover.Follow(ctx, pool, source, cfg.Discover)
	if err != nil {
		return nil, err
	}
	if cfg.Policy == nil {
		cfg.Policy = p2c.Policy{}
	}
	cfg.HTTP.Base = refreshing(cfg.HTTP.Base, follower.Refresh)
	transport, err := lbhttp.NewWith(evenkeel.NewDispatcher(pool, cfg.Policy), cfg.HTTP)
	if err != nil {
		return nil, errors.Join(err, follower.Close())
	}
	return &Client{
		Client:   &http.Client{Transport: transport, CheckRedirect: sameHost},
		pool:     pool,
		follower: follower,
	}, nil
}

// sameHost lets the client follow redirects within the service only, since a request for
// another host would go to the service's servers too.
func sameHost(req *http.Request, via []*http.Request) error {
	switch first := via[0].URL; {
	case req.URL.Scheme != first.Scheme || req.URL.Host != first.Host:
		return http.ErrUseLastResponse
	case len(via) >= 10:
		return errors.New("client: stopped after 10 redirects")
	}
	return nil
}

// Pool returns the pool of the service's servers: its statistics and events, and
// ejection by hand.
func (c *Client) Pool() *evenkeel.Pool[string] { return c.pool }

// Discovery returns how the search for servers fares.
func (c *Client) Discovery() discover.Stats { return c.follower.Stats() }

// Close stops following the service's servers and closes the idle connections. Requests
// that are under way go on. The error is that of discover.Follower.Close.
func (c *Client) Close() error {
	err := c.follower.Close()
	c.CloseIdleConnections()
	return err
}
