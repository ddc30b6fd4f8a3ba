// Package addr is the one grammar of a backend that is a string.
//
// A backend is "host:port", "host", or a base URL of scheme http or https with a
// host, an optional port and an optional path. A host is a name or an IP address;
// an IPv6 address stands in brackets. Whatever sends calls to backends and
// whatever probes them must read them alike: else one that is found healthy gets
// no calls.
package addr

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Parse reads a backend.
//
// In the result Scheme is empty if the backend has none. Host is in lower case,
// with the port if there is one. A path stays as it is. A trailing dot of the host
// stays too: to a resolver such a name is another one. So two backends have equal
// URLs if they differ in nothing but case.
//
// In "host:port" and "host" an IPv6 address may have a zone, as [net.Addr] prints
// it: "[fe80::1%eth0]:80". In a URL its % is written %25 (RFC 6874); without a
// scheme that is understood too, unless what follows is a number, which is the
// index of an interface. The case of a zone stays.
//
// Any other scheme is refused, as are a user, a query and a fragment. The error
// names the backend, without its password, and says what is wrong and what to
// write instead.
func Parse(backend string) (*url.URL, error) {
	u, bad := read(backend)
	if bad != nil {
		return nil, fmt.Errorf("%q: %s; %s", Redact(backend), bad.why, bad.instead)
	}
	return u, nil
}

// HostPort returns what to dial for a URL of Parse: its port, or the one of its
// scheme. A host without either is an error, and so is a name that is not ASCII:
// the resolver knows such a name by its ASCII form only, which starts with "xn--".
func HostPort(u *url.URL) (string, error) {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	host, _, _ := strings.Cut(u.Hostname(), "%")
	switch {
	case port == "":
		return "", fmt.Errorf("%q: it names no port; write %q", u.Host, u.Host+":port")
	case strings.ContainsFunc(host, func(r rune) bool { return r >= utf8.RuneSelf }):
		return "", fmt.Errorf("%q: the name is not ASCII; write it as the resolver knows it, as in \"xn--bcher-kva.example:80\"", u.Host)
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

// Redact returns a backend as errors and logs may show it: "xxxxx" stands in place
// of the user and the password of a URL. Without a scheme only "user:password@"
// is taken for them.
func Redact(backend string) string {
	if !strings.Contains(backend, "@") {
		return backend
	}
	start := 0
	if at := strings.Index(backend, "://"); at >= 0 {
		start = at + len("://")
	}
	rest := backend[start:]
	end := len(rest)
	if u, err := parseURL(backend); err == nil {
		if u.User == nil {
			return backend
		}
		if at := strings.IndexAny(rest, "/?#"); at >= 0 {
			end = at
		}
	} // else the password may hold any character
	at := strings.LastIndex(rest[:end], "@")
	if at < 0 || start == 0 && !strings.Contains(rest[:at], ":") {
		return backend
	}
	return backend[:start] + "xxxxx" + rest[at:]
}

// A problem is what is wrong with a backend, and what to write instead.
type problem struct{ why, instead string }

const form = "want host:port or http(s)://host:port/path"

func problemf(instead, why string, args ...any) *problem {
	return &problem{fmt.Sprintf(why, args...), instead}
}

// write proposes other backends.
func write(backends ...string) string {
	quoted := make([]string, len(backends))
	for i, b := range backends {
		quoted[i] = strconv.Quote(b)
	}
	return "write " + strings.Join(quoted, " or ")
}

func hasScheme(backend string) bool { return strings.Contains(backend, "://") }

// parseURL splits a backend, of whatever form, into the parts of a URL.
func parseURL(backend string) (*url.URL, error) {
	if hasScheme(backend) {
		return url.Parse(backend)
	}
	return url.Parse("//" + escapeZone(backend))
}

// escapeZone writes the zone of "[address%zone]:port" as a URL has it.
func escapeZone(backend string) string {
	address, rest, ok := strings.Cut(backend, "%")
	zone, port, closed := strings.Cut(rest, "]")
	if !ok || !closed || !strings.HasPrefix(address, "[") || strings.Contains(address, "]") {
		return backend
	}
	if escaped, is := strings.CutPrefix(zone, "25"); is && strings.Trim(escaped, "0123456789") != "" {
		return backend // it is already
	}
	zone = strings.ReplaceAll(zone, "%", "%25")
	return address + "%25" + strings.ReplaceAll(zone, " ", "%20") + "]" + port
}

func read(backend string) (*url.URL, *problem) {
	if bad := checkBrackets(backend); bad != nil {
		return nil, bad
	}
	u, err := parseURL(backend)
	if err != nil {
		return nil, unreadable(backend, err)
	}
	if bad := checkParts(backend, u); bad != nil {
		return nil, bad
	}
	host := u.Hostname()
	if bad := checkHost(u.Host, host); bad != nil {
		return nil, bad
	}
	address, zone, _ := strings.Cut(host, "%")
	host = strings.ToLower(address) + host[len(address):len(host)-len(zone)] + zone
	switch p := u.Port(); {
	case p != "":
		if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
			return nil, problemf(form, "the port is not within 1 to 65535")
		}
		u.Host = net.JoinHostPort(host, p)
	case strings.Contains(host, ":"):
		u.Host = "[" + host + "]"
	default:
		u.Host = host
	}
	return u, nil
}

// unreadable says why a backend is not even like a URL.
func unreadable(backend string, err error) *problem {
	if strings.Contains(backend, "@") {
		return problemf(form, "it is not a valid URL") // what url.Parse says may quote a password
	}
	if hasScheme(backend) && strings.Contains(backend, "[") && strings.Contains(backend, "%") {
		return problemf("in a URL the % of a zone is written %25", "%v", reason(err))
	}
	return problemf(form, "%v", reason(err))
}

// reason is what url.Parse says without the text that it repeats.
func reason(err error) error {
	if parse := (*url.Error)(nil); errors.As(err, &parse) {
		return parse.Err
	}
	return err
}

const brackets = "an IPv6 address, and nothing else, stands in brackets"

// checkBrackets finds an IPv6 address without brackets, and what else stands in
// them. What url.Parse makes of either depends on the version of Go.
func checkBrackets(backend string) *problem {
	before, host := "", backend
	if hasScheme(backend) {
		at := strings.Index(backend, "://") + len("://")
		before, host = backend[:at], backend[at:]
	}
	after := ""
	if at := strings.IndexAny(host, "/?#"); at >= 0 {
		host, after = host[:at], host[at:]
	}
	if inside, ok := strings.CutPrefix(host, "["); ok {
		inside, _, closed := strings.Cut(inside, "]")
		if address, _, _ := strings.Cut(inside, "%"); closed && !is6(address) {
			return problemf(form, brackets)
		}
		return nil
	}
	if !is6(host) {
		return nil
	}
	if before != "" {
		host = strings.Replace(host, "%", "%25", 1)
	}
	return problemf(write(before+"["+host+"]:port"+after, before+"["+host+"]"+after), brackets)
}

func is6(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Is6()
}

// checkParts checks which parts there are.
func checkParts(backend string, u *url.URL) *problem {
	scheme := hasScheme(backend)
	switch {
	case scheme && u.Scheme != "http" && u.Scheme != "https":
		return problemf(form, "the scheme %q is neither http nor https", u.Scheme)
	case u.Hostname() == "":
		return problemf(form, "there is no host")
	case u.User != nil:
		return problemf("put credentials into a header of the request", "it holds a user")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(backend, "#"):
		return problemf("put a query into the request", "it holds a query or a fragment")
	case !scheme && u.Path != "":
		return problemf(write("http://"+backend, "https://"+backend), "it has a path but no scheme")
	}
	return nil
}

// checkHost checks a host, which is text with its brackets and port.
func checkHost(text, host string) *problem {
	switch {
	case strings.HasPrefix(text, "["):
		if !is6(host) { // its zone is empty
			return problemf(form, brackets)
		}
		_, zone, _ := strings.Cut(host, "%")
		if !printable(zone, "\t/\\@?#<>\",;%[]") {
			return problemf(form, "that is no zone of an IPv6 address")
		}
		return nil
	case strings.HasSuffix(text, ":") && strings.Count(text, ":") == 1:
		return problemf(write(host, text+"80"), "the port is missing after the colon")
	case strings.Contains(host, ":"):
		return problemf(form, brackets)
	case strings.Contains(host, ","):
		return problemf("give each backend as a string of its own", "that is no host name")
	case !printable(host, " \t/\\@?#<>\";[]%") || strings.Trim(host, ".") == "":
		return problemf(form, "that is no host name")
	}
	return nil
}

// printable reports whether text has none of the characters of without, and none
// that a reader does not see.
func printable(text, without string) bool {
	return utf8.ValidString(text) && !strings.ContainsAny(text, without) &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}
