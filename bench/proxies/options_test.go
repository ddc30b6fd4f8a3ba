package main

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDefaults(t *testing.T) {
	opt, err := parse(nil, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, options{
		steps: []string{"slow", "capacity"}, products: []string{"nginx", "haproxy", "lighttpd"},
		requests: []int{200, 5000}, many: 5000, speed: 0.1, clients: 16, repeat: 3,
	}, opt)
}

func TestShortSetsTheNumbers(t *testing.T) {
	opt, err := parse([]string{"-short", "-products", "nginx, lighttpd", "slow"}, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, options{
		steps: []string{"slow"}, products: []string{"nginx", "lighttpd"}, short: true,
		requests: []int{shortRequests}, many: shortMany, speed: 0.1, clients: 16, repeat: shortRepeat,
	}, opt)
}

func TestBadArgumentsGetOneSentence(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-nonsense", "-nonsense; -h lists the flags"},
		{"-requests x", `-requests: "x" is not a number`},
		{"-requests 200,0", "-requests is 0; it must be from 1 to 1000000"},
		{"-requests 200,200", "-requests names 200 twice"},
		{"-requests ,", "-requests names no number"},
		{"-capacity-requests 0", "-capacity-requests is 0"},
		{"-speed 0", "-speed is 0; it must be from 0.01 to 1"},
		{"-speed NaN", "-speed is NaN"},
		{"-clients 513", "-clients is 513; it must be from 1 to 512"},
		{"-repeat 0", "-repeat is 0"},
		{"-abreast -1", "-abreast is -1"},
		{"-products envoy", `-products: there is no "envoy"; choose among nginx, haproxy, lighttpd`},
		{"-products nginx,nginx", "-products names nginx twice"},
		{"-products , -check", "-check compares evenkeel with proxies; -products names none"},
		{"-short -repeat 5", "-short sets -repeat itself"},
		{"-short -requests 10", "-short sets -requests itself"},
		{"-short -capacity-requests 10", "-short sets -capacity-requests itself"},
		{"fast", `"fast" is no step; there are slow and capacity`},
		{"slow slow", "step slow is named twice"},
		{"slow -check", "-check comes after a step; flags come first"},
	} {
		t.Run(c.args, func(t *testing.T) {
			_, err := parse(strings.Fields(c.args), io.Discard)
			require.ErrorContains(t, err, c.want)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}
