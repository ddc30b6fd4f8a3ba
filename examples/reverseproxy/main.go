// Reverseproxy is a balancing HTTP proxy in some twenty lines: what comes to
// -listen goes to the least loaded of the backends, WebSockets included.
//
//	go run ./examples/reverseproxy -listen localhost:8080 10.0.0.1:80 10.0.0.2:80
package main

import (
	"flag"
	"fmt"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/sqf"
)

func main() {
	listen := flag.String("listen", "localhost:8080", "`address` to listen on")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: reverseproxy [-listen address] BACKEND...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	proxy, err := newProxy(flag.Args()...)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe(*listen, proxy))
}

// newProxy returns a proxy over the backends, each "host:port" or a base URL.
func newProxy(backends ...string) (*httputil.ReverseProxy, error) {
	pool, err := evenkeel.NewPool(evenkeel.Config{}, backends...)
	if err != nil {
		return nil, err
	}
	transport, err := lbhttp.NewWith(sqf.New(pool), lbhttp.Config{})
	if err != nil {
		return nil, err
	}
	service := &url.URL{Scheme: "http", Host: "backend"} // stands for all of them
	return &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(service)
			r.Out.Host = r.In.Host // the backends see the name the client asked for
			r.SetXForwarded()
		},
	}, nil
}
