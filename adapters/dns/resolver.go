package dns

import (
	"cmp"
	"net"
	"time"

	"github.com/miekg/dns"
)

// Resolver asks DNS servers. The zero Resolver is ready for use. It keeps nothing from one
// lookup to the next and is safe for concurrent use. Its errors are those of package net:
// a *net.DNSError with IsNotFound where the name or the record is not there, with
// IsTemporary where no server has given an answer; or the cause of the context's end.
type Resolver struct {
	// Servers are the servers to ask, as "address:port". nil: those of ResolvConf.
	Servers []string

	// ResolvConf is a file of the form of resolv.conf(5), which is read at each lookup:
	// its servers, if Servers is nil, its search list and its ndots. "":
	// /etc/resolv.conf, or none if Servers is not nil.
	ResolvConf string

	// Timeout is how long one server may take for one question. 0: 2 s. The context of
	// the lookup bounds the whole.
	Timeout time.Duration
}

// config returns the servers to ask, and the search list.
func (r *Resolver) config() (*dns.ClientConfig, error) {
	if r.Servers != nil && r.ResolvConf == "" {
		return &dns.ClientConfig{Servers: r.Servers, Ndots: 1}, nil
	}
	conf, err := dns.ClientConfigFromFile(cmp.Or(r.ResolvConf, "/etc/resolv.conf"))
	if err != nil {
		return nil, err
	}
	for i, server := range conf.Servers {
		conf.Servers[i] = net.JoinHostPort(server, conf.Port)
	}
	if r.Servers != nil {
		conf.Servers = r.Servers
	}
	return conf, nil
}
