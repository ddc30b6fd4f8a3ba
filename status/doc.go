// Package status shows pools to people and scripts: an http.Handler with a page that
// stays up to date by itself, and the same as JSON under "pools.json".
//
//	h := status.NewHandler(status.Config{}, status.Show(pool))
//	defer h.Close()
//	mux.Handle("/status/", http.StripPrefix("/status", h))
//
// The page changes nothing unless Config.Control is set. It asks nobody who they are:
// put it behind whatever guards the other pages for operators.
package status
