package lbhttp_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/roundrobin"
)

// Three servers behind one name. One of them is down, and no call fails.
func Example() {
	var backends []string
	for range 3 {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "%s asked for %s", r.Host, r.URL.Path)
		}))
		defer s.Close()
		backends = append(backends, s.Listener.Addr().String())
		if len(backends) == 1 {
			s.Close()
		}
	}

	pool, err := evenkeel.NewPool(evenkeel.Config{}, backends...)
	if err != nil {
		fmt.Println(err)
		return
	}
	client := &http.Client{Transport: lbhttp.NewTransport(roundrobin.New(pool))}
	defer client.CloseIdleConnections()

	answers := map[string]int{}
	for range 90 {
		resp, err := client.Get("http://orders/items")
		if err != nil {
			fmt.Println(err)
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		answers[string(body)]++
	}
	fmt.Println(answers)
	for backend, stats := range pool.All() {
		if backend == backends[0] {
			fmt.Println("the one that is down is", stats.State)
		}
	}
	// Output:
	// map[orders asked for /items:90]
	// the one that is down is ejected by outcome
}

// Every request of the client goes to the pool, whatever its host. A redirect to
// another site is therefore not followed but handed to the caller.
func Example_redirects() {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/old":
			http.Redirect(w, r, "/new", http.StatusFound)
		case "/login":
			http.Redirect(w, r, "https://accounts.example.com/login", http.StatusFound)
		default:
			fmt.Fprintf(w, "%s asked for %s", r.Host, r.URL.Path)
		}
	}))
	defer s.Close()

	pool, err := evenkeel.NewPool(evenkeel.Config{}, s.Listener.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	client := &http.Client{
		Transport: lbhttp.NewTransport(roundrobin.New(pool)),
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			switch first := via[0].URL; {
			case req.URL.Scheme != first.Scheme || req.URL.Host != first.Host:
				return http.ErrUseLastResponse // a foreign host: the pool is not the place to ask
			case len(via) >= 10:
				return errors.New("stopped after 10 redirects")
			}
			return nil
		},
	}
	defer client.CloseIdleConnections()

	for _, path := range []string{"/old", "/login"} {
		resp, err := client.Get("http://orders" + path)
		if err != nil {
			fmt.Println(err)
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if to := resp.Header.Get("Location"); to != "" {
			fmt.Println(resp.StatusCode, "to", to)
		} else {
			fmt.Println(resp.StatusCode, string(body))
		}
	}
	// Output:
	// 200 orders asked for /new
	// 302 to https://accounts.example.com/login
}
