package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestQueueServesOneAtATime(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	q := queue{service: 50 * time.Millisecond}
	assert.Equal(t, at(50), q.enter(at(0)))
	assert.Equal(t, at(100), q.enter(at(0)), "it waits for the first")
	assert.Equal(t, at(150), q.enter(at(70)), "and the third for the second")
	assert.Equal(t, at(450), q.enter(at(400)), "an idle server begins at once")
}

func TestServerAnswersWithItsNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{service: 50 * time.Millisecond}
		began := time.Now()
		for k := range 2 {
			w := httptest.NewRecorder()
			q.answer(3).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
			assert.Equal(t, "3", w.Body.String())
			assert.Equal(t, time.Duration(k+1)*50*time.Millisecond, time.Since(began), "virtual time")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w := httptest.NewRecorder()
		q.answer(3).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx))
		assert.Empty(t, w.Body.String(), "the client has gone")
	})
}

func TestFleetListensOnLoopbackAndGoes(t *testing.T) {
	f, err := startFleet([]time.Duration{time.Microsecond, time.Microsecond})
	require.NoError(t, err)
	require.Len(t, f.addresses, 2)
	for i, address := range f.addresses {
		assert.Regexp(t, `^127\.0\.0\.\d+:\d+$`, address)
		s := straight(address)
		number, err := ask(t.Context(), &http.Client{Transport: s.transport}, s.url, 2)
		require.NoError(t, err)
		assert.Equal(t, i, number)
		s.close()
	}
	f.close()
	s := straight(f.addresses[0])
	defer s.close()
	_, err = ask(t.Context(), &http.Client{Transport: s.transport}, s.url, 2)
	assert.Error(t, err)
}
