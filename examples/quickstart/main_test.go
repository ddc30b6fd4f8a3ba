package main

import (
	"bytes"
	"context"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A small run over real servers: every policy gets its row, round robin its exact
// share, and nothing is left running.
func TestRunOverItsOwnServers(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-requests", "80", "-workers", "8", "-fast", "1ms", "-slow", "6ms"}, &out, false))

	assert.Contains(t, out.String(), "80 requests by 8 workers for each policy; 3 servers that need 1ms and one that needs 6ms")
	for i, policy := range policyNames() {
		row := rowOf(out.String(), policy)
		require.NotEmpty(t, row, "%s has no row in\n%s", policy, out.String())
		assert.Regexp(t, `(?m)^\[`+string(rune('1'+i))+`/4\] `+policy+` +80/80 requests`, out.String())
		if policy == "roundrobin" {
			assert.Contains(t, row, "25.0 %")
		}
	}
	assert.NotContains(t, out.String(), "\r", "a pipe gets plain lines")
	assert.NotContains(t, out.String(), "failed")
}

func TestPoliciesRunInTheOrderAsked(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-policies", "sqf, p2c", "-requests", "8", "-fast", "1ms", "-slow", "1ms", "-servers", "2", "-seed", "7"}, &out, false))
	first, second := strings.Index(out.String(), "\nsqf "), strings.Index(out.String(), "\np2c ")
	assert.Positive(t, first)
	assert.Less(t, first, second)
	assert.Empty(t, rowOf(out.String(), "roundrobin"))
}

// On a terminal the progress stands in one line that is gone when the table comes.
func TestRunOnATerminal(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-policies", "sqf", "-requests", "8", "-fast", "1ms", "-slow", "1ms"}, &out, true))
	last := strings.LastIndex(out.String(), "\r")
	assert.Positive(t, last)
	assert.NotContains(t, out.String()[last:], "/8 requests")
	assert.NotEmpty(t, rowOf(out.String(), "sqf"))
}

func TestBadFlagsGetOneSentence(t *testing.T) {
	for _, c := range []struct {
		args string
		want string
	}{
		{"-nonsense", "-nonsense"},
		{"stray", `"stray" is not a flag`},
		{"-requests 0", "-requests is 0; it must be from 1"},
		{"-requests x", "-requests"},
		{"-workers -1", "-workers is -1"},
		{"-servers 1", "-servers is 1; it must be from 2"},
		{"-fast 0s", "-fast is 0s; it must be above 0"},
		{"-slow 5", "-slow"},
		{"-timeout -1s", "-timeout is -1s"},
		{"-policies best", `there is no policy "best"; choose among roundrobin, random, p2c, sqf`},
		{"-policies ,", "-policies names none"},
		{"-policies p2c,p2c", "-policies names p2c twice"},
		{"-url 10.0.0.1:8080,10.0.0.2:8080", `"10.0.0.1:8080" is not a URL`},
		{"-url http://a,ftp://b", `"ftp://b" is not a URL`},
		{"-url http://a", "at least two servers"},
		{"-url ,", "at least two servers"},
		{"-url http://a,http://a", "-url names http://a twice"},
		{"-url http://a,http://b -slow 1s", "-slow is for servers started here"},
		{"-url http://a,http://b -servers 3", "-servers is for servers started here"},
	} {
		t.Run(c.args, func(t *testing.T) {
			var out bytes.Buffer
			err := run(t.Context(), strings.Fields(c.args), &out, false)
			require.ErrorContains(t, err, c.want)
			assert.NotContains(t, err.Error(), "\n")
			assert.Empty(t, out.String(), "nothing was started")
		})
	}
}

func TestHelpListsTheFlags(t *testing.T) {
	var out bytes.Buffer
	require.ErrorIs(t, run(t.Context(), []string{"-h"}, &out, false), flag.ErrHelp)
	for _, name := range []string{"-url", "-policies", "-requests", "-workers", "-servers", "-fast", "-slow", "-timeout", "-seed"} {
		assert.Contains(t, out.String(), name)
	}
}

// ownServer is a server of the user's own.
func ownServer(t *testing.T, handle http.HandlerFunc) string {
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s.URL
}

func TestOwnServers(t *testing.T) {
	var a, b atomic.Int64
	urlA := ownServer(t, func(http.ResponseWriter, *http.Request) { a.Add(1) })
	urlB := ownServer(t, func(http.ResponseWriter, *http.Request) { b.Add(1) })
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-url", urlA + "," + urlB, "-policies", "roundrobin", "-requests", "40"}, &out, false))
	assert.Contains(t, rowOf(out.String(), "roundrobin"), "50.0 %")
	assert.EqualValues(t, looks+20, a.Load())
	assert.EqualValues(t, looks+20, b.Load())
	assert.Contains(t, out.String(), "2 servers, of which http://127.0.0.1:")
}

func TestAnUnreachableServerGetsOneSentence(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	well := ownServer(t, func(http.ResponseWriter, *http.Request) {})
	var out bytes.Buffer
	err := run(t.Context(), []string{"-url", well + "," + gone.URL}, &out, false)
	require.ErrorContains(t, err, gone.URL+" cannot be used: ")
	assert.NotContains(t, err.Error(), "\n")
	assert.Empty(t, out.String())
}

func TestAServerThatFailsAtOnceIsNotMeasured(t *testing.T) {
	well := ownServer(t, func(http.ResponseWriter, *http.Request) {})
	ill := ownServer(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	var out bytes.Buffer
	err := run(t.Context(), []string{"-url", well + "," + ill}, &out, false)
	require.EqualError(t, err, ill+" cannot be used: it answers 503 Service Unavailable")
}

func TestFailedRequestsAreCountedAndReported(t *testing.T) {
	failing := func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) }
	var a, b atomic.Int64
	turnsBad := func(n *atomic.Int64) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if n.Add(1) > looks {
				failing(w)
			}
		}
	}
	urls := ownServer(t, turnsBad(&a)) + "," + ownServer(t, turnsBad(&b))
	var out bytes.Buffer
	err := run(t.Context(), []string{"-url", urls, "-policies", "p2c", "-requests", "30"}, &out, false)
	require.EqualError(t, err, "30 of 30 requests failed under p2c, the last one because: it answers 500 Internal Server Error")
	assert.Contains(t, rowOf(out.String(), "p2c"), "30 failed")
}

// Ctrl-C cancels the context: the run ends with what it has so far, without an
// error, and the table says that it is not complete.
func TestCtrlCEndsWithWhatThereIs(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var n atomic.Int64
	handle := func(_ http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 2*looks+20 {
			cancel()
			<-r.Context().Done()
		}
	}
	urls := ownServer(t, handle) + "," + ownServer(t, handle)
	var out bytes.Buffer
	require.NoError(t, run(ctx, []string{"-url", urls, "-policies", "p2c,sqf", "-requests", "1000000", "-workers", "2"}, &out, false))
	assert.Regexp(t, `stopped at \d+ of 1000000\n`, rowOf(out.String(), "p2c"))
	assert.NotContains(t, rowOf(out.String(), "p2c"), "failed", "what Ctrl-C cut off has not failed")
	assert.Empty(t, rowOf(out.String(), "sqf"), "it was not begun")
	assert.True(t, strings.HasSuffix(out.String(), "\nStopped; this is what was measured so far.\n"))
}

func TestCtrlCBeforeTheFirstRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	url := ownServer(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	var out bytes.Buffer
	require.NoError(t, run(ctx, []string{"-url", url + ",http://127.0.0.1:1"}, &out, false))
	assert.Equal(t, "Stopped before the first request.\n", out.String())

	out.Reset()
	require.NoError(t, run(ctx, nil, &out, false))
	assert.Contains(t, out.String(), "No request was answered.")
}

// Each server of the quickstart serves one request at a time, in order of arrival.
func TestOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := oneAtATime(50 * time.Millisecond)
		began := time.Now()
		done := make(chan time.Duration)
		for range 3 {
			go func() {
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
				assert.Equal(t, "done\n", w.Body.String())
				done <- time.Since(began)
			}()
		}
		for k := range 3 {
			assert.Equal(t, time.Duration(k+1)*50*time.Millisecond, <-done)
		}

		// One who has gone away is not served, and does not keep the turn.
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 2 {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx))
			assert.Empty(t, w.Body.String())
		}
		assert.Equal(t, 150*time.Millisecond, time.Since(began))
	})
}

func TestProgressInPlainLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := newProgress(&out, false)
		count := p.begin("[1/1] p2c", 3)
		count()
		time.Sleep(1500 * time.Millisecond) // virtual
		synctest.Wait()
		count()
		p.end()
		assert.Equal(t, "[1/1] p2c            1/3 requests, 1.0 s\n[1/1] p2c            2/3 requests, 1.5 s\n", out.String())
	})
}

func TestProgressRedrawsOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := newProgress(&out, true)
		p.begin("p2c", 3)()
		time.Sleep(250 * time.Millisecond) // virtual
		synctest.Wait()
		p.end()
		line := "p2c                  1/3 requests, 0.%d s"
		want := "\r" + strings.Replace(line, "%d", "1", 1) + "\r" + strings.Replace(line, "%d", "2", 1) +
			"\r" + strings.Repeat(" ", len(line)-1) + "\r"
		assert.Equal(t, want, out.String())
	})
}

func TestAFileIsNoTerminal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	assert.False(t, isTerminal(f))
	require.NoError(t, f.Close())
	assert.False(t, isTerminal(f), "a closed one neither")
}

func rowOf(out, policy string) string {
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, policy+" ") && !strings.Contains(line, " sent the slow") && !strings.Contains(line, " saw ") {
			return line
		}
	}
	return ""
}
