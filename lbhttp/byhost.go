package lbhttp

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/evenkeel-go/evenkeel"
)

// Hosts is an http.RoundTripper for a client that calls several services: the host in
// the URL of each request chooses the RoundTripper. A redirect from one service to
// another is sent to the other's backends. Make one by ByHost. A Hosts is safe for
// concurrent use.
type Hosts struct {
	services map[string]http.RoundTripper
	other    http.RoundTripper
}

// ErrUnknownHost is matched by the error of a request whose host a Hosts does not
// know.
var ErrUnknownHost = errors.New("lbhttp: unknown host")

// ByHost returns a Hosts over services, whose keys are hosts as they stand in URLs:
// "orders", or "orders:8080". Case and a trailing dot do not count. A key with a port
// applies to URLs with that port, or of whose scheme it is the default; a key without
// one applies to every port that has no key of its own.
//
// Requests for other hosts are sent by other. If other is nil they fail with an error
// that matches ErrUnknownHost.
//
// The map is copied. The error matches evenkeel.ErrBadConfig if a key is not a host, if
// two keys are the same host, or if a RoundTripper is nil.
func ByHost(services map[string]http.RoundTripper, other http.RoundTripper) (*Hosts, error) {
	h := &Hosts{services: make(map[string]http.RoundTripper, len(services)), other: other}
	for _, key := range slices.Sorted(maps.Keys(services)) {
		u, err := ParseBackend(key)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: lbhttp.ByHost: %w", evenkeel.ErrBadConfig, err)
		case u.Scheme != "":
			return nil, fmt.Errorf("%w: lbhttp.ByHost: %q is a URL; write its host, %q", evenkeel.ErrBadConfig, key, u.Host)
		case services[key] == nil:
			return nil, fmt.Errorf("%w: lbhttp.ByHost: the RoundTripper of %q is nil", evenkeel.ErrBadConfig, key)
		}
		host := hostKey(u.Hostname(), u.Port())
		if h.services[host] != nil {
			return nil, fmt.Errorf("%w: lbhttp.ByHost: %q stands twice", evenkeel.ErrBadConfig, host)
		}
		h.services[host] = services[key]
	}
	return h, nil
}

func hostKey(hostname, port string) string {
	key := strings.ToLower(strings.TrimSuffix(hostname, "."))
	if port != "" {
		key += ":" + port
	}
	return key
}

// RoundTrip implements http.RoundTripper.
func (h *Hosts) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL == nil {
		closeBody(req)
		return nil, errors.New("lbhttp: nil Request.URL")
	}
	if rt := h.find(req.URL); rt != nil {
		return rt.RoundTrip(req)
	}
	closeBody(req)
	return nil, fmt.Errorf("%w %q: ByHost was given %q", ErrUnknownHost, req.URL.Host, slices.Sorted(maps.Keys(h.services)))
}

func (h *Hosts) find(u *url.URL) http.RoundTripper {
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	if rt := h.services[hostKey(u.Hostname(), port)]; rt != nil {
		return rt
	}
	if rt := h.services[hostKey(u.Hostname(), "")]; rt != nil {
		return rt
	}
	return h.other
}

// CloseIdleConnections calls the method of this name of every RoundTripper that has
// one. http.Client.CloseIdleConnections calls it.
func (h *Hosts) CloseIdleConnections() {
	for rt := range h.all() {
		if c, ok := rt.(interface{ CloseIdleConnections() }); ok {
			c.CloseIdleConnections()
		}
	}
}

// all yields every RoundTripper; one that serves several hosts is yielded for each.
func (h *Hosts) all() func(yield func(http.RoundTripper) bool) {
	return func(yield func(http.RoundTripper) bool) {
		for _, rt := range h.services {
			if !yield(rt) {
				return
			}
		}
		if h.other != nil {
			yield(h.other)
		}
	}
}
