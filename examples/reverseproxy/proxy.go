package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// proxy passes requests on and writes a line about each.
type proxy struct {
	log       *slog.Logger
	transport *lbhttp.Transport
	pass      *httputil.ReverseProxy
}

// newProxy returns a proxy over the backends, each "host:port" or a base URL. If h2c
// is set they are spoken to by HTTP/2 without TLS.
func newProxy(log *slog.Logger, h2c bool, backends ...string) (*proxy, error) {
	pool, err := evenkeel.NewPool(evenkeel.Config{
		MaxInFlight: 200, Backlog: 1000, MaxWait: time.Second, // better to refuse than to pile up
		OnEvent: func(e evenkeel.Event) { log.Warn("pool", "event", e) },
	}, backends...)
	if err != nil {
		return nil, err
	}
	base := &http.Transport{
		DialContext:           (&net.Dialer{Timeout: 3 * time.Second}).DialContext,
		TLSHandshakeTimeout:   3 * time.Second,
		ExpectContinueTimeout: time.Second,
		MaxIdleConnsPerHost:   200,
		DisableCompression:    true, // the client decides
		Protocols:             new(http.Protocols),
	}
	if base.Protocols.SetUnencryptedHTTP2(true); !h2c {
		base.Protocols.SetHTTP1(true)
		base.Protocols.SetHTTP2(true)
	}
	p := &proxy{log: log}
	p.transport, err = lbhttp.NewWith(sqf.New(pool), lbhttp.Config{Base: base})
	if err != nil {
		return nil, err
	}
	service := &url.URL{Scheme: "http", Host: "backend"} // stands for all of them
	p.pass = &httputil.ReverseProxy{
		Transport: p.transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(service)
			r.Out.Host = r.In.Host // the backends see the name the client asked for
			r.SetXForwarded()
		},
		ErrorHandler: fail,
	}
	return p, nil
}

// ServeHTTP implements http.Handler.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := time.Now()
	ctx, tracker := lbhttp.Track(r.Context())
	seen := &recorder{ResponseWriter: w}
	defer func() { // also if the proxy breaks the response off by a panic
		p.log.Info("request", "method", r.Method, "path", r.URL.Path, "status", seen.status,
			"backend", tracker.Backend(), "attempts", tracker.Attempts(), "took", time.Since(begun), "error", seen.err)
	}()
	p.pass.ServeHTTP(seen, r.WithContext(ctx))
}

// fail answers a request that brought no response.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	if seen, ok := w.(*recorder); ok {
		seen.err = err
	}
	switch timeout := net.Error(nil); {
	case r.Context().Err() != nil && errors.Is(r.Context().Err(), context.Canceled):
		return // the client has gone: nobody reads an answer
	case errors.Is(err, evenkeel.ErrOverloaded), errors.Is(err, evenkeel.ErrNoBackends):
		w.Header().Set("Retry-After", "1")
		http.Error(w, "no backend is free", http.StatusServiceUnavailable)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		http.Error(w, "no backend answered in time", http.StatusGatewayTimeout)
	default:
		http.Error(w, "no backend answered", http.StatusBadGateway)
	}
}

// recorder notes what the access log needs. Unwrap keeps flushing and hijacking.
type recorder struct {
	http.ResponseWriter
	status int
	err    error
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
