package health_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/health"
)

func Example() {
	ready := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {}))
	defer ready.Close()
	starting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer starting.Close()

	changes := make(chan evenkeel.Event, 10)
	pool, err := evenkeel.NewPool(evenkeel.Config{OnEvent: func(e evenkeel.Event) { changes <- e }}, ready.URL, starting.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	checker, err := health.Start(pool, health.HTTP[string]{Path: "/healthz"}, health.Config{Down: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer checker.Close()

	e := <-changes
	fmt.Println("the one that starts:", e.Backend == starting.URL, "is", e.To)
	// Output: the one that starts: true is ejected by health
}
