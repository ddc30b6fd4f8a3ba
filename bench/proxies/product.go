package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// A product is a proxy that Debian has a package of, by its own name.
type product struct {
	name    string
	config  string   // the template of its configuration file
	version []string // the arguments that make it print its version
	command func(binary, prefix, config string) []string
}

// products are the proxies that evenkeel is measured against.
var products = []product{
	{
		name: "nginx", config: "nginx.conf.tmpl", version: []string{"-v"},
		command: func(binary, prefix, config string) []string {
			return []string{binary, "-p", prefix, "-c", config, "-e", "stderr"}
		},
	},
	{
		name: "haproxy", config: "haproxy.cfg.tmpl", version: []string{"-v"},
		command: func(binary, _, config string) []string { return []string{binary, "-db", "-f", config} },
	},
	{
		name: "lighttpd", config: "lighttpd.conf.tmpl", version: []string{"-v"},
		command: func(binary, _, config string) []string { return []string{binary, "-D", "-f", config} },
	},
}

// An installed product can be started.
type installed struct {
	product
	binary string
	number string // its version
}

var errNotInstalled = errors.New("not installed")

// findProduct looks for the product in the PATH and where daemons are kept, which
// is often not in the PATH of a user. The error of a missing one says how to
// install it.
func findProduct(p product) (installed, error) {
	for _, dir := range []string{"", "/usr/sbin", "/usr/local/sbin"} {
		binary, err := exec.LookPath(filepath.Join(dir, p.name))
		if err != nil {
			continue
		}
		text, err := exec.Command(binary, p.version...).CombinedOutput()
		if err != nil {
			return installed{}, fmt.Errorf("%s %s fails: %w: %s", binary, strings.Join(p.version, " "), err, text)
		}
		return installed{product: p, binary: binary, number: versionIn(string(text))}, nil
	}
	return installed{}, fmt.Errorf("%s is %w: on Debian and Ubuntu \"apt-get install %s\", as root, installs it", p.name, errNotInstalled, p.name)
}

var versionNumber = regexp.MustCompile(`\d+(\.\d+)+[-+\w.]*`)

// versionIn is the first version number in a text.
func versionIn(text string) string {
	if number := versionNumber.FindString(text); number != "" {
		return number
	}
	return "unknown"
}

// serve starts the product before the servers, with a prefix of its own below root.
// Its error has the end of what the product wrote.
func (p installed) serve(ctx context.Context, root, method string, servers []string) (target, error) {
	return onFreeAddress(func(address string) (target, error) {
		prefix, err := os.MkdirTemp(root, p.name+"-")
		if err != nil {
			return target{}, err
		}
		text, err := render(p.config, settings{Prefix: prefix, Listen: address, Method: method, Servers: servers})
		if err != nil {
			return target{}, err
		}
		config := filepath.Join(prefix, strings.TrimSuffix(p.config, ".tmpl"))
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			return target{}, err
		}
		return serveProcess(ctx, prefix, p.name, address, p.command(p.binary, prefix, config)...)
	})
}

// onFreeAddress calls start with an address that is free, and again with another
// one if it was taken in the meantime.
func onFreeAddress(start func(address string) (target, error)) (target, error) {
	const tries = 5
	for try := 1; ; try++ {
		address, err := freeAddress()
		if err != nil {
			return target{}, err
		}
		t, err := start(address)
		if try == tries || !errors.Is(err, errPortTaken) {
			return t, err
		}
	}
}

// serveProcess starts a command that will listen on the address.
func serveProcess(ctx context.Context, dir, name, address string, command ...string) (target, error) {
	p, err := startProcess(ctx, dir, name, command...)
	if err != nil {
		return target{}, err
	}
	if err := p.listening(ctx, address); err != nil {
		p.stop()
		return target{}, err
	}
	return throughProxy(address, p), nil
}
