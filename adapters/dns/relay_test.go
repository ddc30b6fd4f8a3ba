package dns_test

import (
	"net"
	"sync/atomic"
	"testing"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// relay is a DNS server whose answers are made by a handler that can be changed at any
// time. It listens on UDP and TCP.
type relay struct {
	addr    string
	handler atomic.Pointer[dns.HandlerFunc]
}

func newRelay(t *testing.T, handler dns.HandlerFunc) *relay {
	t.Helper()
	r := &relay{}
	r.set(handler)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r.addr = tcp.Addr().String()
	udp, err := net.ListenPacket("udp", r.addr)
	require.NoError(t, err)
	for _, server := range []*dns.Server{{Listener: tcp}, {PacketConn: udp}} {
		started, over := make(chan struct{}), make(chan error, 1)
		server.Handler = dns.HandlerFunc(func(w dns.ResponseWriter, m *dns.Msg) { (*r.handler.Load())(w, m) })
		server.NotifyStartedFunc = func() { close(started) }
		go func() { over <- server.ActivateAndServe() }()
		<-started
		t.Cleanup(func() {
			require.NoError(t, server.Shutdown())
			require.NoError(t, <-over)
		})
	}
	return r
}

func (r *relay) set(handler dns.HandlerFunc) { r.handler.Store(&handler) }

// pass hands questions on to a server, by the network that they came by.
func pass(server string) dns.HandlerFunc {
	return func(w dns.ResponseWriter, question *dns.Msg) {
		client := &dns.Client{Net: w.LocalAddr().Network()}
		answer, _, err := client.Exchange(question, server)
		if err != nil {
			return // nobody answers there: nor does the relay
		}
		_ = w.WriteMsg(answer)
	}
}

// silent never answers.
func silent(dns.ResponseWriter, *dns.Msg) {}

// code answers with an error.
func code(rcode int) dns.HandlerFunc {
	return func(w dns.ResponseWriter, question *dns.Msg) {
		_ = w.WriteMsg(new(dns.Msg).SetRcode(question, rcode))
	}
}

// cut answers that the answer does not fit.
func cut(w dns.ResponseWriter, question *dns.Msg) {
	answer := new(dns.Msg).SetReply(question)
	answer.Truncated = true
	_ = w.WriteMsg(answer)
}

// truncated answers by TCP only, and by UDP that the answer does not fit.
func truncated(next dns.HandlerFunc) dns.HandlerFunc {
	return func(w dns.ResponseWriter, question *dns.Msg) {
		if w.LocalAddr().Network() == "tcp" {
			next(w, question)
			return
		}
		cut(w, question)
	}
}

// records answers with the records of a zone, written as in a zone file.
func records(zone ...string) dns.HandlerFunc {
	return func(w dns.ResponseWriter, question *dns.Msg) {
		answer := new(dns.Msg).SetRcode(question, dns.RcodeNameError)
		name := question.Question[0].Name
		for _, text := range zone {
			record, err := dns.NewRR(text)
			if err != nil {
				panic(err)
			}
			if record.Header().Name != name {
				continue
			}
			answer.Rcode = dns.RcodeSuccess
			if alias, ok := record.(*dns.CNAME); ok {
				name = alias.Target
			} else if record.Header().Rrtype != question.Question[0].Qtype {
				continue
			}
			answer.Answer = append(answer.Answer, record)
		}
		_ = w.WriteMsg(answer)
	}
}
