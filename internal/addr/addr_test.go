package addr_test

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/evenkeel-go/evenkeel/internal/addr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	u, err := addr.Parse("https://Orders.example/v2")
	fmt.Println(u, err)
	fmt.Println(addr.HostPort(u))
	_, err = addr.Parse("::1")
	fmt.Println(err)
	// Output:
	// https://orders.example/v2 <nil>
	// orders.example:443 <nil>
	// "::1": an IPv6 address, and nothing else, stands in brackets; write "[::1]:port" or "[::1]"
}

// accepted are backends, and for each its scheme, host and path.
var accepted = map[string][3]string{
	"h:1": {"", "h:1"}, "h": {"", "h"}, "H.Example:80": {"", "h.example:80"},
	"h.:80": {"", "h.:80"}, "h.": {"", "h."}, "under_score:80": {"", "under_score:80"},
	"h:65535": {"", "h:65535"}, "h:0080": {"", "h:0080"}, "Bücher.example": {"", "bücher.example"},
	"127.0.0.1:8080": {"", "127.0.0.1:8080"}, "0.0.0.0:80": {"", "0.0.0.0:80"}, "10.0.0.1": {"", "10.0.0.1"},
	"[::1]:1": {"", "[::1]:1"}, "[::1]": {"", "[::1]"}, "[FE80::1]:1": {"", "[fe80::1]:1"}, "[::]:80": {"", "[::]:80"},
	"[::ffff:1.2.3.4]:80": {"", "[::ffff:1.2.3.4]:80"}, "[0:0::1]:80": {"", "[0:0::1]:80"},

	"[fe80::1%eth0]:80": {"", "[fe80::1%eth0]:80"}, "[FE80::1%Eth0]": {"", "[fe80::1%Eth0]"}, "[fe80::1%25eth0]:80": {"", "[fe80::1%eth0]:80"},
	"[fe80::1%1]:80": {"", "[fe80::1%1]:80"}, "[fe80::1%25]:80": {"", "[fe80::1%25]:80"}, "[fe80::1%251]:80": {"", "[fe80::1%251]:80"},
	"[fe80::1%Ethernet 2]:80": {"", "[fe80::1%Ethernet 2]:80"}, "[fe80::1%br-1.100]:80": {"", "[fe80::1%br-1.100]:80"},
	"http://[fe80::1%25eth0]:80/v2": {"http", "[fe80::1%eth0]:80", "/v2"}, "http://[fe80::1%251]": {"http", "[fe80::1%1]"},

	"http://h": {"http", "h"}, "http://h/": {"http", "h", "/"}, "HTTPS://H:8443/V2/": {"https", "h:8443", "/V2/"},
	"https://10.0.0.7:8443/v2": {"https", "10.0.0.7:8443", "/v2"}, "http://h/a%2Fb": {"http", "h", "/a%2Fb"}, "http://h/a@b:c": {"http", "h", "/a@b:c"},
}

// F126: scheme, host and port are the same everywhere.
func TestF126Accepted(t *testing.T) {
	for backend, want := range accepted {
		u, err := addr.Parse(backend)
		if assert.NoError(t, err, backend) {
			assert.Equal(t, want, [3]string{u.Scheme, u.Host, u.EscapedPath()}, backend)
			assert.Equal(t, backend, addr.Redact(backend))
		}
	}
}

// F126: each is refused with a reason, and most with what to write instead.
func TestF126Refused(t *testing.T) {
	const form = "want host:port or http(s)://host:port/path"
	for backend, want := range map[string]string{
		"":                 "there is no host; " + form,
		":80":              "there is no host; " + form,
		"http://":          "there is no host; " + form,
		"http://:80":       "there is no host; " + form,
		"/v2":              "there is no host; " + form,
		"dns:///h:1":       `the scheme "dns" is neither http nor https; ` + form,
		"passthrough:///h": `the scheme "passthrough" is neither http nor https; ` + form,
		"grpc://h:1":       `the scheme "grpc" is neither http nor https; ` + form,
		"h:1/v2":           `it has a path but no scheme; write "http://h:1/v2" or "https://h:1/v2"`,
		"h/":               `it has a path but no scheme; write "http://h/" or "https://h/"`,
		"unix:/run/x.sock": "it has a path but no scheme",
		"http:/h:80":       "it has a path but no scheme",
		"10.0.0.0/8":       "it has a path but no scheme",

		"::1":                 `an IPv6 address, and nothing else, stands in brackets; write "[::1]:port" or "[::1]"`,
		"fe80::1%eth0":        `an IPv6 address, and nothing else, stands in brackets; write "[fe80::1%eth0]:port" or "[fe80::1%eth0]"`,
		"fe80::a":             `write "[fe80::a]:port"`,
		"http://::1/v2":       `write "http://[::1]:port/v2" or "http://[::1]/v2"`,
		"http://fe80::1%eth0": `write "http://[fe80::1%25eth0]:port"`,
		"http://a:b:80":       form,
		"a:b:80":              "an IPv6 address, and nothing else, stands in brackets",
		"[h]:80":              "an IPv6 address, and nothing else, stands in brackets; " + form,
		"[1.2.3.4]:80":        "an IPv6 address, and nothing else, stands in brackets; " + form,
		"http://[h]/":         "an IPv6 address, and nothing else, stands in brackets; " + form,
		"[::1":                "missing ']'",
		"::1]":                form,
		"[::1]80":             form,
		"[::1%]:80":           form,
		"[::1%a%b]:80":        "that is no zone of an IPv6 address",
		"[::1%a\u202eb]:80":   "that is no zone of an IPv6 address",
		"http://[::1%eth0]":   "in a URL the % of a zone is written %25",

		"h:":        `the port is missing after the colon; write "h" or "h:80"`,
		"http://h:": "the port is missing after the colon",
		"h:0":       "the port is not within 1 to 65535",
		"h:65536":   "the port is not within 1 to 65535",
		"h:99999":   "the port is not within 1 to 65535",
		"h:http":    "invalid port",
		"h:-1":      "invalid port",
		"h:1:2":     form,

		"https://u:p@h:1":  "it holds a user; put credentials into a header of the request",
		"u:p@h:1":          "it holds a user; put credentials into a header of the request",
		"http://h/?q=1":    "it holds a query or a fragment; put a query into the request",
		"http://h?":        "it holds a query or a fragment",
		"http://h/#f":      "it holds a query or a fragment",
		"http://h/#":       "it holds a query or a fragment",
		"a,b":              "that is no host name; give each backend as a string of its own",
		"a:1,b:2":          form,
		"a b:1":            "invalid character",
		"a;b":              "that is no host name",
		".:80":             "that is no host name",
		"a]b:80":           "that is no host name",
		"h\u00a0:80":       "that is no host name",
		"\u200bh:80":       "that is no host name",
		"h\xff:80":         "that is no host name",
		"h:80\n":           "invalid control character",
		" h:80":            "invalid character",
		"http://h/%zz":     "invalid URL escape",
		"http:// h":        "invalid character",
		"http://u:p%@h":    "it is not a valid URL; " + form,
		"http://u:a/b@h:1": "it is not a valid URL; " + form,
	} {
		_, err := addr.Parse(backend)
		if assert.Error(t, err, backend) {
			assert.ErrorContains(t, err, want)
			assert.True(t, strings.HasPrefix(err.Error(), fmt.Sprintf("%q: ", addr.Redact(backend))), "%v names it", err)
		}
	}
}

// Whatever address of a server package net prints is a backend.
func TestPrintedAddressesAreBackends(t *testing.T) {
	for _, ip := range []string{"10.0.0.1", "::1", "fe80::1", "::ffff:10.0.0.1", "::"} {
		for _, zone := range []string{"", "eth0", "Ethernet 2", "7", "25", "251", "wlan0.1"} {
			if zone != "" && net.ParseIP(ip).To4() != nil {
				continue
			}
			for _, a := range []net.Addr{&net.TCPAddr{IP: net.ParseIP(ip), Port: 80, Zone: zone}, &net.UDPAddr{IP: net.ParseIP(ip), Port: 80, Zone: zone}} {
				u, err := addr.Parse(a.String())
				if assert.NoError(t, err, a) {
					dial, err := addr.HostPort(u)
					assert.NoError(t, err)
					assert.Equal(t, a.String(), dial)
				}
			}
		}
	}
}

// F146: backends that differ only in case are one, and so they have one URL.
func TestF146CaseMakesNoOther(t *testing.T) {
	for a, b := range map[string]string{"A:80": "a:80", "[FE80::A]:1": "[fe80::a]:1", "HTTP://H": "http://h"} {
		one, err := addr.Parse(a)
		require.NoError(t, err)
		other, err := addr.Parse(b)
		require.NoError(t, err)
		assert.Equal(t, one, other)
	}
}

func TestHostPort(t *testing.T) {
	for backend, want := range map[string]string{
		"h:1": "h:1", "http://h": "h:80", "https://h/v2": "h:443", "https://h:1": "h:1", "https://[::1]": "[::1]:443",
		"[fe80::1%eth0]:80": "[fe80::1%eth0]:80", "http://[fe80::1%25é]": "[fe80::1%é]:80",
	} {
		u, err := addr.Parse(backend)
		require.NoError(t, err, backend)
		dial, err := addr.HostPort(u)
		assert.NoError(t, err, backend)
		assert.Equal(t, want, dial)
	}
	for backend, want := range map[string]string{
		"h":          `"h": it names no port; write "h:port"`,
		"[::1]":      `"[::1]": it names no port; write "[::1]:port"`,
		"bücher.x:1": `"bücher.x:1": the name is not ASCII; write it as the resolver knows it, as in "xn--bcher-kva.example:80"`,
	} {
		u, err := addr.Parse(backend)
		require.NoError(t, err, backend)
		_, err = addr.HostPort(u)
		assert.EqualError(t, err, want)
	}
}

// Nobody who reads an error reads a password.
func TestRedact(t *testing.T) {
	for backend, want := range map[string]string{
		"h:1":                       "h:1",
		"http://user:secret@h/x":    "http://xxxxx@h/x",
		"http://secret@h":           "http://xxxxx@h",
		"http://u:secret@h/a@b":     "http://xxxxx@h/a@b",
		"http://u:sec/secret@h":     "http://xxxxx@h",
		"http://u:secret%@h:1":      "http://xxxxx@h:1",
		"http://u:sec@secret@h":     "http://xxxxx@h",
		"u:secret@h:1":              "xxxxx@h:1",
		"worker@h":                  "worker@h", // no password: the name of a node
		"http://h/a@b":              "http://h/a@b",
		"ftp://u:secret@h:port/":    "xxxxx",
		"http://u:secret@h/?x=1#@y": "xxxxx",
	} {
		assert.Contains(t, addr.Redact(backend), want)
		_, err := addr.Parse(backend)
		if err != nil {
			assert.NotContains(t, err.Error(), "sec", backend)
		}
	}
}

// Whatever is accepted can be put into a request, read again and dialled; whatever
// is refused is named.
func FuzzParse(f *testing.F) {
	for backend := range accepted {
		f.Add(backend)
	}
	for _, backend := range []string{"", "::1", "h:0", "u:p@h", "http://u:p%@h", "http://h?q", "a,b", "[::1%25]:80", "[::1%2525x]:80", "//", "[", "h\xff", "%41"} {
		f.Add(backend)
	}
	f.Fuzz(func(t *testing.T, backend string) {
		u, err := addr.Parse(backend)
		if err != nil {
			require.Nil(t, u)
			require.Contains(t, err.Error(), fmt.Sprintf("%q", addr.Redact(backend)))
			return
		}
		require.Nil(t, u.User)
		require.Empty(t, u.RawQuery+u.Fragment+u.Opaque)
		require.NotEmpty(t, u.Hostname())
		again := *u
		again.Scheme = "http"
		parsed, err := url.Parse(again.String())
		require.NoError(t, err)
		require.Equal(t, u.Host, parsed.Host)
		if u.Scheme != "" { // without one the zones 25x would be read as escaped
			read, err := addr.Parse(u.String())
			require.NoError(t, err)
			require.Equal(t, u.Host, read.Host)
			require.Equal(t, u.EscapedPath(), read.EscapedPath())
		}
		if dial, err := addr.HostPort(&again); err == nil {
			host, port, err := net.SplitHostPort(dial)
			require.NoError(t, err)
			require.Equal(t, u.Hostname(), host)
			require.NotEmpty(t, port)
		}
	})
}
