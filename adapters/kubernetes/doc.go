// Package kubernetes is a discover.Source: the endpoints of a Kubernetes Service, by a
// watch of its EndpointSlices.
//
//	config, err := rest.InClusterConfig() // of k8s.io/client-go/rest
//	...
//	clientset, err := clientgo.NewForConfig(config) // of k8s.io/client-go/kubernetes
//	...
//	source, err := kubernetes.NewSource(clientset, "shop", "orders", kubernetes.Config{Port: "http"})
//	if err != nil { ... }
//	defer source.Close()
//	orders, err := client.NewWith(ctx, source, client.Config{
//		Discover: discover.Config{MinInterval: 100 * time.Millisecond},
//	})
//
// # What counts as a member
//
// An endpoint that is ready is a member. One that is terminating gets no new calls (its
// weight is 0), unless no endpoint is ready: then those that still serve are used, as
// kube-proxy does it. One that is not ready and not terminating is none; should all of
// them say so at once, discover keeps the last good members.
//
// While the API server cannot be reached, the endpoints that were known last are the
// answer. The watch is taken up again as soon as there is one.
//
// # What it may read
//
// The pod's service account needs this Role in the namespace of the Service:
//
//	apiVersion: rbac.authorization.k8s.io/v1
//	kind: Role
//	metadata: {name: read-endpoints, namespace: shop}
//	rules:
//	- apiGroups: ["discovery.k8s.io"]
//	  resources: ["endpointslices"]
//	  verbs: ["list", "watch"]
//
// # The light alternative
//
// A headless Service (clusterIP: None) has its ready endpoints in the DNS, and needs
// neither this module nor a Role:
//
//	orders, err := client.New(ctx, "dns://orders.shop.svc.cluster.local:8080")
//
// It sees changes later, by the TTL of the cluster's DNS (5 to 30 s) and the Interval; it
// does not know zones; and where a deployment ends, servers that are gone get calls until
// the next lookup, which then are tried again elsewhere.
package kubernetes
