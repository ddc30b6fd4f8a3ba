// Reverseproxy is a balancing HTTP proxy: what comes to -listen goes to the least
// loaded of the backends. It passes on HTTP/1.1 and HTTP/2 without TLS, so WebSockets,
// streams of events and gRPC too.
//
//	go run ./examples/reverseproxy -listen localhost:8080 10.0.0.1:80 10.0.0.2:80
//
// With -h2c the backends are spoken to by HTTP/2 without TLS, as gRPC servers expect.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	listen := flag.String("listen", "localhost:8080", "`address` to listen on")
	h2c := flag.Bool("h2c", false, "speak HTTP/2 without TLS to the backends")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: reverseproxy [-listen address] [-h2c] BACKEND...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	proxy, err := newProxy(slog.Default(), *h2c, flag.Args()...)
	if err != nil {
		log.Fatal(err)
	}
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, l, proxy, 30*time.Second); err != nil {
		log.Fatal(err)
	}
}

// serve serves until ctx ends. Then it takes no more requests, and gives those under
// way the time that grace allows.
func serve(ctx context.Context, l net.Listener, h http.Handler, grace time.Duration) error {
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second, // a client that never sends its header
		IdleTimeout:       2 * time.Minute,
		Protocols:         new(http.Protocols),
		// No ReadTimeout and no WriteTimeout: they would end streams and uploads.
	}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	within, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	err := s.Shutdown(within)
	if err != nil {
		err = errors.Join(err, s.Close()) // the rest is cut off
	}
	if ended := <-ended; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}
