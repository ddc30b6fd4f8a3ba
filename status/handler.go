package status

import (
	"bytes"
	"embed"
	"encoding/json"
	"html/template"
	"io/fs"
	"net/http"
	"strconv"
)

//go:embed assets
var assets embed.FS

var page = template.Must(template.ParseFS(assets, "assets/page.html"))

// Config sets up a Handler. The zero value shows all and changes nothing.
type Config struct {
	// Control lets the page eject and restore backends, by POST. A request that a browser
	// sends for another site is refused (http.CrossOriginProtection).
	Control bool

	// Cause gives the text that is shown for an error, which is never nil. nil:
	// err.Error(). Set it where errors carry what operators must not see.
	Cause func(err error) string
}

// A Handler serves the page at "/", and beside it "pools.json". It is safe for
// concurrent use. Make one with NewHandler.
type Handler struct {
	cfg       Config
	sources   []Source
	histories []*history
	stops     []func()
	mux       http.Handler
}

// NewHandler returns a handler that shows the sources in this order. It observes their
// events until Close.
func NewHandler(cfg Config, sources ...Source) *Handler {
	h := &Handler{cfg: cfg, sources: sources}
	for _, s := range sources {
		past := newHistory()
		h.histories = append(h.histories, past)
		h.stops = append(h.stops, s.observe(past.add))
	}
	files, _ := fs.Sub(assets, "assets") // the name is a valid one
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", h.page)
	mux.HandleFunc("GET /pools.json", h.json)
	mux.Handle("GET /style.css", http.FileServerFS(files))
	mux.Handle("GET /live.js", http.FileServerFS(files))
	if cfg.Control {
		mux.HandleFunc("POST /{$}", h.change)
	}
	h.mux = http.NewCrossOriginProtection().Handler(mux)
	return h
}

// Close ends the observation of the pools. The handler still serves, without new events.
func (h *Handler) Close() {
	for _, stop := range h.stops {
		stop()
	}
}

// ServeHTTP serves the page, its files and the JSON.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
	h.mux.ServeHTTP(w, r)
}

func (h *Handler) look() []poolView {
	views := []poolView{}
	for i, s := range h.sources {
		v := look(s, h.histories[i], h.cause)
		v.Index, v.Control = i, h.cfg.Control
		views = append(views, v)
	}
	return views
}

func (h *Handler) cause(err error) string {
	switch {
	case err == nil:
		return ""
	case h.cfg.Cause != nil:
		return h.cfg.Cause(err)
	default:
		return err.Error()
	}
}

func (h *Handler) page(w http.ResponseWriter, _ *http.Request) {
	var out bytes.Buffer
	if err := page.Execute(&out, h.look()); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = out.WriteTo(w) // an error here is the reader's leaving
}

func (h *Handler) json(w http.ResponseWriter, _ *http.Request) {
	out, err := json.Marshal(h.look())
	if err != nil { // a load that is not a number
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(out)
}

// change ejects or restores a backend, and leads back to the page.
func (h *Handler) change(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<16)
	i, err := strconv.Atoi(r.PostFormValue("pool"))
	if err != nil || i < 0 || i >= len(h.sources) {
		http.Error(w, "no such pool", http.StatusBadRequest)
		return
	}
	change := h.sources[i].eject
	switch r.PostFormValue("do") {
	case "eject":
	case "restore":
		change = h.sources[i].restore
	default:
		http.Error(w, "neither eject nor restore", http.StatusBadRequest)
		return
	}
	found, err := change(r.PostFormValue("backend"))
	switch {
	case found == 0:
		http.Error(w, "no such backend", http.StatusNotFound)
	case found > 1:
		http.Error(w, "several backends have this name", http.StatusConflict)
	case err != nil:
		http.Error(w, h.cause(err), http.StatusConflict)
	default:
		w.Header().Set("Location", "./") // as the browser sees it, whatever prefix was stripped
		w.WriteHeader(http.StatusSeeOther)
	}
}
