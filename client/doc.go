// Package client is the short form of the library: an http.Client for a service's name,
// with its servers found and balanced.
//
//	orders, err := client.New(ctx, "dns://orders.internal:8080")
//	if err != nil { ... } // the name has no servers
//	defer orders.Close()
//	resp, err := orders.Get("http://orders/items")
//
// It puts together what the other packages do: discover finds the servers and follows
// their changes, a pool of package evenkeel ejects broken ones and starts new ones slowly,
// p2c picks one for each request, and lbhttp sends the request and tries again on another
// server where that is safe. All have their recommended set-up, which [Config] changes.
//
// A Client is for one service: whatever host a URL names, the request goes to the
// service's servers, with that host in its Host header and for the check of TLS
// certificates. A redirect to another host is therefore not followed but returned.
package client
