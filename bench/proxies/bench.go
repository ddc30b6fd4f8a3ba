package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
)

// A bench is what this program finds where it runs.
type bench struct {
	root      string // a temporary directory: the prefixes of the proxies
	products  []installed
	reverse   string   // evenkeel's reverse proxy, "" if it is not to be had
	missing   []string // one sentence each
	published published
}

// findBench looks for the wanted ones of the products and evenkeel's reverse
// proxy. What is missing is left out. The caller closes the bench.
func findBench(ctx context.Context, wanted []string) (*bench, error) {
	p, err := readPublished()
	if err != nil {
		return nil, err
	}
	b := &bench{published: p}
	for _, product := range products {
		if !slices.Contains(wanted, product.name) {
			continue
		}
		found, err := findProduct(product)
		switch {
		case errors.Is(err, errNotInstalled):
			b.missing = append(b.missing, err.Error())
		case err != nil:
			return nil, err
		default:
			b.products = append(b.products, found)
		}
	}
	if b.root, err = os.MkdirTemp("", "evenkeel-proxies-"); err != nil {
		return nil, fmt.Errorf("cannot make a directory for the proxies: %w", err)
	}
	b.reverse, err = buildExample(ctx, b.root)
	if ctx.Err() != nil {
		b.close()
		return nil, context.Cause(ctx)
	}
	if err != nil {
		b.missing = append(b.missing, err.Error())
	}
	return b, nil
}

func (b *bench) close() { _ = os.RemoveAll(b.root) }

// proxied is a subject that starts a product.
func (b *bench) proxied(p installed, method string) subject {
	return subject{who: p.name, open: func(ctx context.Context, servers []string) (target, error) {
		return p.serve(ctx, b.root, method, servers)
	}}
}

// embedded is a subject that chooses in the client, with no proxy between.
func (b *bench) embedded(policy string, k kind, requests int) subject {
	return subject{who: inTheClient, method: policy, kind: k, requests: requests,
		open: func(_ context.Context, servers []string) (target, error) { return inClient(policy, servers) }}
}

// reverseProxy is the subject that starts evenkeel's reverse proxy, if it is there.
func (b *bench) reverseProxy(requests int) []subject {
	if b.reverse == "" {
		return nil
	}
	return []subject{{who: asAProxy, method: "sqf", kind: loadAware, requests: requests,
		open: func(ctx context.Context, servers []string) (target, error) {
			return serveExample(ctx, b.reverse, b.root, servers)
		}}}
}
