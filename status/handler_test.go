package status_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/p2c"
	"github.com/evenkeel-go/evenkeel/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newPool(t *testing.T, backends ...string) *evenkeel.Pool[string] {
	t.Helper()
	pool, err := evenkeel.NewPool(evenkeel.Config{Name: "search"}, backends...)
	require.NoError(t, err)
	return pool
}

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
	return w
}

func post(h http.Handler, site string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", site)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func eject(backend string) url.Values {
	return url.Values{"pool": {"0"}, "backend": {backend}, "do": {"eject"}}
}

func TestThePageAndTheJSONShowAPool(t *testing.T) {
	pool := newPool(t, "a:1", "b:1")
	h := status.NewHandler(status.Config{}, status.Show(pool))
	defer h.Close()
	lease, err := p2c.New(pool).Lease(t.Context())
	require.NoError(t, err)
	defer lease.Release()
	require.NoError(t, pool.SetHealth("b:1", errors.New("<script>refused")))

	w := get(h, "/")
	require.Equal(t, http.StatusOK, w.Code)
	assert.Contains(t, w.Header().Get("Content-Security-Policy"), "script-src 'self'")
	for _, text := range []string{"search", "a:1", "&lt;script&gt;refused", "1 calls in flight", `<tr class="bad">`} {
		assert.Contains(t, w.Body.String(), text)
	}
	for _, text := range []string{"<script>refused", "<form", "style="} {
		assert.NotContains(t, w.Body.String(), text)
	}

	var got []struct {
		Stats    struct{ Name string }
		Backends []struct{ Name, State, Cause, Since string }
		Events   []struct{ Backend, Text, Cause string }
	}
	w = get(h, "/pools.json")
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
	require.Len(t, got, 1)
	require.Len(t, got[0].Backends, 2)
	assert.Equal(t, "search", got[0].Stats.Name)
	assert.Equal(t, evenkeel.StateEjectedByHealth.String(), got[0].Backends[1].State)
	assert.NotEmpty(t, got[0].Backends[1].Since)
	assert.Empty(t, got[0].Backends[0].Since)
	require.Len(t, got[0].Events, 1)
	assert.Equal(t, "b:1", got[0].Events[0].Backend)
}

func TestNothingChangesUnlessControlIsOn(t *testing.T) {
	pool := newPool(t, "a:1", "b:1")
	h := status.NewHandler(status.Config{}, status.Show(pool))
	defer h.Close()
	assert.Equal(t, http.StatusMethodNotAllowed, post(h, "same-origin", eject("a:1")).Code)
	assert.Equal(t, 2, pool.Stats().Usable)
}

func TestEjectAndRestore(t *testing.T) {
	pool := newPool(t, "a:1", "b:1")
	h := status.NewHandler(status.Config{Control: true}, status.Show(pool))
	defer h.Close()
	assert.Equal(t, http.StatusForbidden, post(h, "cross-site", eject("a:1")).Code)
	assert.Equal(t, 2, pool.Stats().Usable, "another site's request changes nothing")

	w := post(h, "same-origin", eject("a:1"))
	assert.Equal(t, http.StatusSeeOther, w.Code)
	assert.Equal(t, "./", w.Header().Get("Location"))
	assert.Equal(t, 1, pool.Stats().Usable)
	back := eject("a:1")
	back.Set("do", "restore")
	assert.Equal(t, http.StatusSeeOther, post(h, "same-origin", back).Code)
	assert.Equal(t, 2, pool.Stats().Usable)
}

func TestBadRequestsAreRefused(t *testing.T) {
	pool := newPool(t, "http://u:one@a", "http://u:two@a")
	h := status.NewHandler(status.Config{Control: true}, status.Show(pool))
	defer h.Close()
	for want, form := range map[int]url.Values{
		http.StatusBadRequest: {"pool": {"1"}, "backend": {"x"}, "do": {"eject"}},
		http.StatusNotFound:   eject("x"),
		http.StatusConflict:   eject("http://u:xxxxx@a"),
	} {
		assert.Equal(t, want, post(h, "same-origin", form).Code)
	}
	assert.Equal(t, http.StatusBadRequest, post(h, "same-origin", url.Values{"pool": {"0"}, "do": {"stop"}}).Code)
	assert.Equal(t, 2, pool.Stats().Usable)
}

func TestNoPasswordAndNoHiddenCauseIsShown(t *testing.T) {
	pool := newPool(t, "http://user:geheim@a", "b:1")
	h := status.NewHandler(status.Config{Cause: func(error) string { return "down" }}, status.Show(pool))
	defer h.Close()
	require.NoError(t, pool.SetHealth("b:1", errors.New("token=geheim")))
	for _, path := range []string{"/", "/pools.json"} {
		body := get(h, path).Body.String()
		assert.NotContains(t, body, "geheim")
		assert.Contains(t, body, "down")
	}
}

func TestOnlyTheLastEventsAreKeptAndNoneAfterClose(t *testing.T) {
	pool := newPool(t, "a:1")
	h := status.NewHandler(status.Config{}, status.Show(pool))
	for i := range 30 {
		pool.SourceNews(fmt.Sprintf("news %d.", i), nil)
	}
	h.Close()
	pool.SourceNews("too late", nil)
	body := get(h, "/pools.json").Body.String()
	assert.Contains(t, body, "news 29.")
	assert.Contains(t, body, "news 10.")
	assert.NotContains(t, body, "news 9.")
	assert.NotContains(t, body, "too late")
}

func TestFiles(t *testing.T) {
	h := status.NewHandler(status.Config{})
	for path, kind := range map[string]string{"/style.css": "text/css", "/live.js": "javascript"} {
		w := get(h, path)
		assert.Equal(t, http.StatusOK, w.Code)
		assert.Contains(t, w.Header().Get("Content-Type"), kind)
	}
	assert.Equal(t, http.StatusNotFound, get(h, "/handler.go").Code)
}
