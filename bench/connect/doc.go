// Package connect tests that clients of connectrpc.com/connect work over lbhttp.
// It is a module of its own so that nothing else needs connect.
package connect
