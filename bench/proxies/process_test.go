package main

import (
	"context"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func shell(t *testing.T, ctx context.Context, script string) *process {
	p, err := startProcess(ctx, t.TempDir(), "toy", "/bin/sh", "-c", script)
	require.NoError(t, err)
	t.Cleanup(p.stop)
	return p
}

func TestStopEndsTheProcess(t *testing.T) {
	p := shell(t, t.Context(), "exec sleep 600")
	p.stop()
	<-p.stopped
	p.stop() // harmless
}

func TestTheEndOfTheContextStopsTheProcess(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := shell(t, ctx, "exec sleep 600")
	cancel()
	<-p.stopped
}

func TestListening(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	assert.NoError(t, shell(t, t.Context(), "exec sleep 600").listening(t.Context(), listener.Addr().String()))
}

func TestAProcessThatEndsAtOnceSaysWhy(t *testing.T) {
	address, err := freeAddress()
	require.NoError(t, err)
	for _, c := range []struct{ script, want string }{
		{"echo one; echo two; echo three; echo unknown directive >&2; exit 1", "toy ended at once; it wrote: two | three | unknown directive"},
		{"exit 1", "toy ended at once; it wrote: nothing"},
	} {
		assert.EqualError(t, shell(t, t.Context(), c.script).listening(t.Context(), address), c.want)
	}
	err = shell(t, t.Context(), "echo 'bind: Address already in use'; exit 1").listening(t.Context(), address)
	assert.ErrorIs(t, err, errPortTaken)
}

func TestListeningEndsWithItsContext(t *testing.T) {
	address, err := freeAddress()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	p := shell(t, t.Context(), "exec sleep 600")
	cancel()
	assert.ErrorIs(t, p.listening(ctx, address), context.Canceled)
}

// A port that somebody else took is tried again elsewhere, a bounded number of
// times; any other failure is not.
func TestOnFreeAddress(t *testing.T) {
	for _, c := range []struct {
		err   error
		calls int
	}{{errPortTaken, 5}, {os.ErrPermission, 1}, {nil, 1}} {
		calls := 0
		_, err := onFreeAddress(func(address string) (target, error) {
			assert.True(t, strings.HasPrefix(address, "127.0.0.1:"))
			calls++
			return target{}, c.err
		})
		assert.Equal(t, c.err, err)
		assert.Equal(t, c.calls, calls)
	}
}

func TestAMissingProductSaysHowToInstallIt(t *testing.T) {
	_, err := findProduct(product{name: "no-such-proxy"})
	require.ErrorIs(t, err, errNotInstalled)
	assert.EqualError(t, err, `no-such-proxy is not installed: on Debian and Ubuntu "apt-get install no-such-proxy", as root, installs it`)
}

func TestVersionIn(t *testing.T) {
	for text, want := range map[string]string{
		"nginx version: nginx/1.22.1\n":                                  "1.22.1",
		"HAProxy version 2.6.12-1+deb12u4 2026/10/17 - https://haproxy.": "2.6.12-1+deb12u4",
		"lighttpd/1.4.69 (ssl) - a light and fast webserver":             "1.4.69",
		"no number": "unknown",
	} {
		assert.Equal(t, want, versionIn(text))
	}
}
