package discover_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/discover"
)

func TestParse(t *testing.T) {
	for target, want := range map[string]discover.Source[string]{
		"dns://orders.internal:8080":       &discover.DNS{Host: "orders.internal:8080"},
		"dns:///orders.internal:8080":      &discover.DNS{Host: "orders.internal:8080"},
		"dns:orders.internal:8080":         &discover.DNS{Host: "orders.internal:8080"},
		"srv://_http._tcp.orders.internal": &discover.SRV{Name: "_http._tcp.orders.internal"},
		"file:///etc/orders/my%20backends": &discover.File{Path: "/etc/orders/my backends"},
	} {
		got, err := discover.Parse(target)
		assert.NoError(t, err, target)
		assert.Equal(t, want, got, target)
	}
	for target, want := range map[string][]string{
		"10.0.0.1:80,10.0.0.2:80": {"10.0.0.1:80", "10.0.0.2:80"},
		"https://h/v2":            {"https://h/v2"},
		"orders:80":               {"orders:80"},
	} {
		source, err := discover.Parse(target)
		if assert.NoError(t, err, target) {
			answer, err := source.Lookup(t.Context())
			assert.NoError(t, err)
			assert.Equal(t, want, backends(answer), target)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for target, want := range map[string]string{
		"":                      "there is no host",
		"dns://orders":          `"orders" is not host:port`,
		"dns://":                "there is no host",
		"srv://orders:80":       "not the name of SRV records",
		"file://etc/backends":   "three slashes",
		"kubernetes:///orders":  `the scheme "kubernetes"`,
		"a:80,":                 "there is no host",
		"http://me:secret@a:80": "it holds a user",
	} {
		_, err := discover.Parse(target)
		assert.ErrorIs(t, err, evenkeel.ErrBadConfig, target)
		assert.ErrorContains(t, err, want, target)
		assert.NotContains(t, err.Error(), "secret")
	}
}
