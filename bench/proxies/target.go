package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/p2c"
	"github.com/evenkeel-go/evenkeel/roundrobin"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// A target is what the clients send their requests to.
type target struct {
	url       string // ends in a slash
	transport http.RoundTripper
	log       func() string // the last that it wrote, for an error
	close     func()
}

// tcp is a transport with room for the connections of all clients.
func tcp() *http.Transport {
	return &http.Transport{MaxIdleConnsPerHost: 1024, IdleConnTimeout: time.Minute, DisableCompression: true}
}

// throughProxy is the target of a proxy that listens on the address.
func throughProxy(address string, p *process) target {
	transport := tcp()
	return target{url: "http://" + address + "/", transport: transport, log: p.lastWords, close: func() {
		transport.CloseIdleConnections()
		p.stop()
	}}
}

// straight is the target of one server, with nothing before it.
func straight(address string) target {
	transport := tcp()
	return target{url: "http://" + address + "/", transport: transport, log: noLog, close: transport.CloseIdleConnections}
}

// policies are evenkeel's, by name.
var policies = map[string]func(*evenkeel.Pool[string]) evenkeel.Balancer[string]{
	"roundrobin": func(pool *evenkeel.Pool[string]) evenkeel.Balancer[string] { return roundrobin.New(pool) },
	"p2c":        func(pool *evenkeel.Pool[string]) evenkeel.Balancer[string] { return p2c.New(pool) },
	"sqf":        func(pool *evenkeel.Pool[string]) evenkeel.Balancer[string] { return sqf.New(pool) },
}

// inClient is the target of an evenkeel balancer inside the client, with its
// settings as they come.
func inClient(policy string, servers []string) (target, error) {
	choose, ok := policies[policy]
	if !ok {
		return target{}, fmt.Errorf("evenkeel has no policy %q", policy)
	}
	pool, err := evenkeel.NewPool(evenkeel.Config{}, servers...)
	if err != nil {
		return target{}, err
	}
	transport := lbhttp.NewTransport(choose(pool))
	return target{url: "http://servers/", transport: transport, log: noLog, close: transport.CloseIdleConnections}, nil
}

func noLog() string { return "" }

// example is the program that evenkeel runs as when it is a proxy.
const example = "github.com/evenkeel-go/evenkeel/examples/reverseproxy"

// buildExample builds the reverse proxy into root. It needs the go command, and
// the directory of this module.
func buildExample(ctx context.Context, root string) (binary string, err error) {
	binary = filepath.Join(root, "reverseproxy")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, example)
	build.Env = append(os.Environ(), "GOWORK=off")
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("evenkeel's reverse proxy cannot be built (run this program in bench/proxies): %w: %s", err, bytes.TrimSpace(text))
	}
	return binary, nil
}

// serveExample starts the reverse proxy before the servers.
func serveExample(ctx context.Context, binary, root string, servers []string) (target, error) {
	return onFreeAddress(func(address string) (target, error) {
		dir, err := os.MkdirTemp(root, "evenkeel-")
		if err != nil {
			return target{}, err
		}
		return serveProcess(ctx, dir, "evenkeel's reverse proxy", address, append([]string{binary, "-listen", address}, servers...)...)
	})
}
