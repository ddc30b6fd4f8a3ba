package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// installedNames are the proxies that this machine has.
func installedNames(t *testing.T) []string {
	var names []string
	for _, p := range products {
		if _, err := findProduct(p); err != nil {
			require.ErrorIs(t, err, errNotInstalled)
			continue
		}
		names = append(names, p.name)
	}
	return names
}

// The whole program, with every proxy that is installed: each has its rows, each
// request is answered by one of the servers, round robin is exact, and neither a
// process nor a file is left.
func TestEndToEnd(t *testing.T) {
	names := installedNames(t)
	if len(names) == 0 {
		t.Skip("no proxy is installed; \"apt-get install nginx haproxy lighttpd\" installs all three")
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	var out, errs bytes.Buffer
	status := program(t.Context(), []string{"-json", "-requests", "40", "-capacity-requests", "400", "-repeat", "1"}, &out, &errs, false)
	require.Zero(t, status, errs.String())
	var r report
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	require.Len(t, r.Results, 2)
	assert.Len(t, r.Results[0].Rows, 3*len(names)+4, "all methods, evenkeel in the client three times and as a proxy")
	assert.Len(t, r.Versions, len(names)+2)
	assert.Len(t, r.Missing, len(products)-len(names))
	for _, result := range r.Results {
		for _, row := range result.Rows {
			total := 0
			for _, n := range row.Median.Sent {
				total += n
			}
			assert.Equal(t, row.Requests, total, row.name())
			if row.Kind == roundRobin {
				assert.InDelta(t, 1/float64(len(result.Services)), row.Median.slow(), equalShare, row.name())
			}
		}
	}
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	for _, entry := range left { // the go command may leave its own
		assert.NotContains(t, entry.Name(), "evenkeel-proxies")
	}
}

// An interrupt stops every proxy that runs, also in the middle of a request.
func TestInterruptStopsTheProxies(t *testing.T) {
	names := installedNames(t)
	if len(names) == 0 {
		t.Skip("no proxy is installed; \"apt-get install nginx haproxy lighttpd\" installs all three")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			for _, p := range products {
				if p.name == name {
					interruptOne(t, p)
				}
			}
		})
	}
}

func interruptOne(t *testing.T, p product) {
	found, err := findProduct(p)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f, err := startFleet(slowServices)
	require.NoError(t, err)
	defer f.close()
	proxy, err := found.serve(ctx, t.TempDir(), methods[p.name][0].name, f.addresses)
	require.NoError(t, err)
	defer proxy.close()
	_, err = drive(ctx, proxy, len(slowServices), 4, 1000, cancel) // cancelled after the first answer
	require.ErrorIs(t, err, context.Canceled)
	proxy.close()
	_, err = net.Dial("tcp", proxy.url[len("http://"):len(proxy.url)-1])
	assert.Error(t, err, "nobody listens any more")
}

// A configuration that the proxy refuses ends with what the proxy said of it.
func TestARefusedConfiguration(t *testing.T) {
	names := installedNames(t)
	if len(names) == 0 {
		t.Skip("no proxy is installed; \"apt-get install nginx haproxy lighttpd\" installs all three")
	}
	for _, p := range products {
		found, err := findProduct(p)
		if err != nil {
			continue
		}
		_, err = found.serve(t.Context(), t.TempDir(), `no "such method`, []string{"127.0.0.1:1"})
		require.ErrorContains(t, err, p.name+" ended at once; it wrote: ")
		assert.NotContains(t, err.Error(), "it wrote: nothing")
	}
}
