package lbhttp

import (
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	bodyStates = []bodyState{bodyFresh, bodyLast, bodyKept, bodyRead, bodyPassed, bodyClosed}
	bodyEvents = []bodyEvent{onRead, onClose, onSettle, onPass}
)

// callersBody counts what is done to the caller's request body.
type callersBody struct{ reads, closes int }

func (b *callersBody) Read([]byte) (int, error) { b.reads++; return 0, io.EOF }
func (b *callersBody) Close() error             { b.closes++; return nil }

// happens makes an event happen to a body, and reports whether it was allowed.
func (e bodyEvent) happens(b *sentBody) bool {
	switch e {
	case onRead:
		_, err := b.Read(nil)
		return err != errClosed
	case onClose:
		return b.Close() == nil
	case onSettle:
		b.settle()
		return true
	default:
		_, ok := b.pass()
		return ok
	}
}

// Every state meets every event. What is not listed here must not happen.
func TestBodyEveryStateMeetsEveryEvent(t *testing.T) {
	type step struct {
		from bodyState
		on   bodyEvent
	}
	type end struct {
		to            bodyState
		reads, closes int // of the caller's body
	}
	legal := map[step]end{
		{bodyFresh, onRead}:   {bodyRead, 1, 0},
		{bodyFresh, onClose}:  {bodyKept, 0, 0},
		{bodyFresh, onSettle}: {bodyLast, 0, 0},
		{bodyFresh, onPass}:   {bodyPassed, 0, 0},

		{bodyLast, onRead}:   {bodyRead, 1, 0},
		{bodyLast, onClose}:  {bodyClosed, 0, 1},
		{bodyLast, onSettle}: {bodyLast, 0, 0},

		{bodyKept, onClose}:  {bodyKept, 0, 0},
		{bodyKept, onSettle}: {bodyClosed, 0, 1},
		{bodyKept, onPass}:   {bodyPassed, 0, 0},

		{bodyRead, onRead}:   {bodyRead, 1, 0},
		{bodyRead, onClose}:  {bodyClosed, 0, 1},
		{bodyRead, onSettle}: {bodyRead, 0, 0},

		{bodyPassed, onClose}:  {bodyPassed, 0, 0},
		{bodyPassed, onSettle}: {bodyPassed, 0, 0},

		{bodyClosed, onClose}:  {bodyClosed, 0, 0},
		{bodyClosed, onSettle}: {bodyClosed, 0, 0},
	}
	require.Len(t, bodyTable, len(bodyStates))
	for _, from := range bodyStates {
		for _, e := range bodyEvents {
			caller := &callersBody{}
			b := &sentBody{inner: caller}
			b.state.Store(uint32(from))
			allowed := e.happens(b)
			want, ok := legal[step{from, e}]
			assert.Equal(t, ok, allowed, "event %d in state %d", e, from)
			if !ok {
				want.to = from // and nothing happens to the caller's body
			}
			assert.Equal(t, want, end{bodyState(b.state.Load()), caller.reads, caller.closes}, "event %d in state %d", e, from)
		}
	}
}

// Every sequence of up to seven events reaches all states of the table and no
// other. Whatever the order, one attempt owns the caller's body: it is closed at
// most once, and neither read nor closed by an attempt that passed it on.
func TestBodyEverySequenceOfEvents(t *testing.T) {
	reached := map[bodyState]bool{}
	var follow func(events []bodyEvent)
	follow = func(events []bodyEvent) {
		caller := &callersBody{}
		b := &sentBody{inner: caller}
		passed := false
		for _, e := range events {
			was := *caller
			allowed := e.happens(b)
			if passed || was.closes > 0 {
				require.Equal(t, was, *caller, "%v: the body was another attempt's, or closed", events)
				require.Equal(t, e == onClose || e == onSettle, allowed, "%v", events)
			}
			passed = passed || (e == onPass && allowed)
		}
		state := bodyState(b.state.Load())
		require.Contains(t, bodyStates, state, "%v", events)
		reached[state] = true

		require.LessOrEqual(t, caller.closes, 1, "%v", events)
		require.Equal(t, state == bodyClosed, caller.closes == 1, "%v", events)
		require.Equal(t, state == bodyPassed, passed, "%v", events)
		if !passed && slices.Contains(events, onClose) && slices.Contains(events, onSettle) {
			require.Equal(t, 1, caller.closes, "%v: the base is done and nothing follows", events)
		}
		if len(events) < 7 {
			for _, e := range bodyEvents {
				follow(append(slices.Clone(events), e))
			}
		}
	}
	follow(nil)
	assert.Len(t, reached, len(bodyStates))
}

func TestBodyThatIsMissingIsNeverClosed(t *testing.T) {
	var b sentBody
	b.settle()
	b.shut()
	assert.False(t, b.unread())
	assert.Equal(t, bodyFresh, bodyState(b.state.Load()))
}
