package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each configuration has the address, the method and the servers where its proxy
// looks for them.
func TestRender(t *testing.T) {
	s := settings{Prefix: "/tmp/p", Listen: "127.0.0.1:8080", Method: "least_conn", Servers: []string{"127.0.0.10:1001", "127.0.0.11:1002"}}
	for _, c := range []struct {
		config string
		want   []string
	}{
		{"nginx.conf.tmpl", []string{
			"upstream servers {\n        least_conn;\n        server 127.0.0.10:1001;\n        server 127.0.0.11:1002;\n    }\n",
			"listen 127.0.0.1:8080;\n",
		}},
		{"haproxy.cfg.tmpl", []string{
			"    bind 127.0.0.1:8080\n    balance least_conn\n    server s0 127.0.0.10:1001\n    server s1 127.0.0.11:1002\n",
		}},
		{"lighttpd.conf.tmpl", []string{
			"server.document-root = \"/tmp/p\"\nserver.bind = \"127.0.0.1\"\nserver.port = 8080\n",
			"proxy.balance = \"least_conn\"\n",
			"    ( \"host\" => \"127.0.0.10\", \"port\" => 1001 ),\n    ( \"host\" => \"127.0.0.11\", \"port\" => 1002 ),\n",
		}},
	} {
		t.Run(c.config, func(t *testing.T) {
			text, err := render(c.config, s)
			require.NoError(t, err)
			for _, want := range c.want {
				assert.Contains(t, text, want)
			}
		})
	}
}

// Nginx has no name for its default: nothing stands before the servers.
func TestRenderWithoutMethod(t *testing.T) {
	text, err := render("nginx.conf.tmpl", settings{Listen: "127.0.0.1:8080", Servers: []string{"127.0.0.1:1001"}})
	require.NoError(t, err)
	assert.Contains(t, text, "upstream servers {\n        server 127.0.0.1:1001;\n    }\n")
}

func TestRenderRefusesAnAddressWithoutPort(t *testing.T) {
	_, err := render("lighttpd.conf.tmpl", settings{Listen: "127.0.0.1"})
	assert.ErrorContains(t, err, "missing port")
}

func TestEveryProductHasItsConfigurationAndMethods(t *testing.T) {
	for _, p := range products {
		assert.NotNil(t, configs.Lookup(p.config), p.name)
		assert.Len(t, methods[p.name], 3, p.name)
	}
}
