package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/roundrobin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type text = wrapperspb.StringValue

const (
	shout = "/test.Service/Shout"
	count = "/test.Service/Count"
	talk  = "/test.Service/Talk"
)

// serve starts a server of the three kinds of call: unary, server-streaming and
// both ways. calls counts those that reach it.
func serve(t *testing.T, calls *atomic.Int64) *httptest.Server {
	mux := http.NewServeMux()
	mux.Handle(shout, connect.NewUnaryHandler(shout, func(_ context.Context, req *connect.Request[text]) (*connect.Response[text], error) {
		calls.Add(1)
		if req.Msg.Value == "" {
			return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("nothing to shout"))
		}
		return connect.NewResponse(wrapperspb.String(strings.ToUpper(req.Msg.Value))), nil
	}))
	mux.Handle(count, connect.NewServerStreamHandler(count, func(_ context.Context, req *connect.Request[text], s *connect.ServerStream[text]) error {
		calls.Add(1)
		for i := range 5 {
			if err := s.Send(wrapperspb.String(fmt.Sprint(req.Msg.Value, i))); err != nil {
				return err
			}
		}
		return nil
	}))
	mux.Handle(talk, connect.NewBidiStreamHandler(talk, func(_ context.Context, s *connect.BidiStream[text, text]) error {
		calls.Add(1)
		for {
			m, err := s.Receive()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if err := s.Send(wrapperspb.String(strings.ToUpper(m.Value))); err != nil {
				return err
			}
		}
	}))
	s := httptest.NewUnstartedServer(mux)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// refused is an address that refuses: no server is given a port that low.
const refused = "127.0.0.1:1"

// Every protocol that connect speaks, over two servers and one that is down.
func TestConnectClients(t *testing.T) {
	for name, protocol := range map[string]connect.ClientOption{
		"connect": connect.WithClientOptions(), "gRPC": connect.WithGRPC(), "gRPC-Web": connect.WithGRPCWeb(),
	} {
		t.Run(name, func(t *testing.T) {
			var calls [2]atomic.Int64
			a, b := serve(t, &calls[0]), serve(t, &calls[1])
			pool, err := evenkeel.NewPool(evenkeel.Config{}, refused, a.Listener.Addr().String(), b.Listener.Addr().String())
			require.NoError(t, err)
			tr, err := lbhttp.NewWith(roundrobin.New(pool), lbhttp.Config{Base: a.Client().Transport})
			require.NoError(t, err)
			defer tr.CloseIdleConnections()
			client := &http.Client{Transport: tr}
			inFlight := func() (n int) {
				for _, s := range pool.All() {
					n += s.InFlight
				}
				return n
			}
			const base = "https://example.com"

			unary := connect.NewClient[text, text](client, base+shout, protocol)
			for range 20 {
				resp, err := unary.CallUnary(t.Context(), connect.NewRequest(wrapperspb.String("hello")))
				require.NoError(t, err)
				assert.Equal(t, "HELLO", resp.Msg.Value)
				assert.Zero(t, inFlight())
			}
			_, err = unary.CallUnary(t.Context(), connect.NewRequest(wrapperspb.String("")))
			assert.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err))

			stream, err := connect.NewClient[text, text](client, base+count, protocol).CallServerStream(t.Context(), connect.NewRequest(wrapperspb.String("n")))
			require.NoError(t, err)
			var got []string
			for stream.Receive() {
				assert.Equal(t, 1, inFlight())
				got = append(got, stream.Msg().Value)
			}
			require.NoError(t, stream.Err())
			require.NoError(t, stream.Close())
			assert.Equal(t, []string{"n0", "n1", "n2", "n3", "n4"}, got)
			assert.Zero(t, inFlight())

			both := connect.NewClient[text, text](client, base+talk, protocol)
			for range 6 { // some of them meet the one that is down first
				s := both.CallBidiStream(t.Context())
				for _, word := range []string{"one", "two"} {
					require.NoError(t, s.Send(wrapperspb.String(word)))
					m, err := s.Receive()
					require.NoError(t, err)
					assert.Equal(t, strings.ToUpper(word), m.Value)
					assert.Equal(t, 1, inFlight())
				}
				require.NoError(t, s.CloseRequest())
				_, err = s.Receive()
				require.ErrorIs(t, err, io.EOF)
				require.NoError(t, s.CloseResponse())
				assert.Zero(t, inFlight())
			}
			assert.Positive(t, calls[0].Load())
			assert.Positive(t, calls[1].Load())
			assert.EqualValues(t, 28, calls[0].Load()+calls[1].Load(), "each call once")
		})
	}
}
