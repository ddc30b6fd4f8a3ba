package lbhttp_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
)

// Addresses with a zone are dialled as they are printed, by "host:port" and by URL.
func TestF126ZonesAreDialled(t *testing.T) {
	for backend, want := range map[string]string{
		(&net.TCPAddr{IP: net.ParseIP("fe80::1"), Port: 80, Zone: "Eth0"}).String(): "[fe80::1%Eth0]:80",
		"[fe80::1%eth0]":               "[fe80::1%eth0]:80",
		"http://[fe80::1%25eth0]:8080": "[fe80::1%eth0]:8080",
	} {
		var dialled []string
		base := &http.Transport{DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
			dialled = append(dialled, address)
			return nil, errors.New("not today")
		}}
		tr := newTransport(t, firstOf(newPool(t, calm, backend)), lbhttp.Config{Base: base})
		_, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
		assert.ErrorContains(t, err, "not today")
		assert.Equal(t, []string{want}, dialled, backend)
	}
}

// The error of a backend that cannot be read says what to write instead, and keeps
// a password to itself.
func TestParseBackendSaysWhatToWrite(t *testing.T) {
	for backend, want := range map[string]string{
		"::1":                `evenkeel: bad backend: "::1": an IPv6 address, and nothing else, stands in brackets; write "[::1]:port" or "[::1]"`,
		"h:1/v2":             `evenkeel: bad backend: "h:1/v2": it has a path but no scheme; write "http://h:1/v2" or "https://h:1/v2"`,
		"https://u:secret@h": `evenkeel: bad backend: "https://xxxxx@h": it holds a user; put credentials into a header of the request`,
	} {
		_, err := lbhttp.ParseBackend(backend)
		require.ErrorIs(t, err, evenkeel.ErrBadBackend)
		assert.EqualError(t, err, want)
	}
}
