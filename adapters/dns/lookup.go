package dns

import (
	"context"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/miekg/dns"
)

// errNone says that a name has no record of the kind that was asked for.
var errNone = errors.New("no such host")

// lookup returns the records of a name: at least one of the kind, and what led there. The
// names of the search list are tried in order. One that no server can say anything of ends
// the search: the next one may be another service.
func (r *Resolver) lookup(ctx context.Context, name string, kind uint16) ([]dns.RR, error) {
	conf, err := r.config()
	if err != nil {
		return nil, &net.DNSError{Err: err.Error(), Name: name, IsTemporary: true}
	}
	server := ""
	for _, full := range conf.NameList(name) {
		var records []dns.RR
		records, server, err = r.askAll(ctx, conf, full, kind)
		switch {
		case err == nil:
			return records, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !errors.Is(err, errNone):
			return nil, &net.DNSError{Err: err.Error(), Name: full, Server: server, IsTemporary: true, IsTimeout: isTimeout(err)}
		}
	}
	return nil, &net.DNSError{Err: errNone.Error(), Name: name, Server: server, IsNotFound: true}
}

// askAll asks one server after the other, and all of them twice: a datagram may be lost.
// It returns the server that was asked last.
func (r *Resolver) askAll(ctx context.Context, conf *dns.ClientConfig, name string, kind uint16) (records []dns.RR, server string, err error) {
	err = errors.New("there is no server to ask")
	for _, server = range slices.Concat(conf.Servers, conf.Servers) {
		records, err = r.ask(ctx, server, name, kind)
		if err == nil || errors.Is(err, errNone) || ctx.Err() != nil {
			break
		}
	}
	return records, server, err
}

// datagram is the largest answer that is asked for by UDP; it fits into any network.
const datagram = 1232

// ask asks one server, by UDP and, if the answer does not fit, by TCP.
func (r *Resolver) ask(ctx context.Context, server, name string, kind uint16) ([]dns.RR, error) {
	question := new(dns.Msg)
	question.SetQuestion(dns.Fqdn(name), kind)
	question.SetEdns0(datagram, false)
	answer, err := r.exchange(ctx, "udp", server, question)
	if err == nil && answer.Truncated {
		answer, err = r.exchange(ctx, "tcp", server, question)
	}
	switch {
	case err != nil:
		return nil, err
	case answer.Rcode == dns.RcodeNameError:
		return nil, errNone
	case answer.Rcode != dns.RcodeSuccess:
		return nil, errors.New("the server answered " + dns.RcodeToString[answer.Rcode])
	case answer.Truncated:
		return nil, errors.New("the answer is truncated even by TCP")
	case !slices.ContainsFunc(answer.Answer, func(record dns.RR) bool { return record.Header().Rrtype == kind }):
		return nil, errNone
	}
	return answer.Answer, nil
}

// exchange sends a question and waits for its answer, no longer than ctx.
func (r *Resolver) exchange(ctx context.Context, network, server string, question *dns.Msg) (*dns.Msg, error) {
	timeout := r.Timeout
	if timeout == 0 {
		timeout = 2 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, network, server)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() }) // ends a read at once
	defer stop()
	client := &dns.Client{Net: network, Timeout: timeout, UDPSize: datagram}
	answer, _, err := client.ExchangeWithConnContext(ctx, question, &dns.Conn{Conn: conn, UDPSize: datagram})
	if ctx.Err() != nil && err != nil {
		return nil, context.Cause(ctx)
	}
	return answer, err
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
