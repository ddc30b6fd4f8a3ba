package status_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/status"
)

func ExampleNewHandler() {
	pool, err := evenkeel.NewPool(evenkeel.Config{Name: "search"}, "10.0.0.1:8080", "10.0.0.2:8080")
	if err != nil {
		panic(err)
	}
	h := status.NewHandler(status.Config{}, status.Show(pool))
	defer h.Close()
	mux := http.NewServeMux()
	mux.Handle("/status/", http.StripPrefix("/status", h))

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/status/", http.NoBody))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output: 200 text/html; charset=utf-8
}
