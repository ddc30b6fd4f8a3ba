package lbhttp_test

import (
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
