package kubernetes

import (
	"fmt"
	"net"
	"slices"

	discovery "k8s.io/api/discovery/v1"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/discover"
)

// members reads the slices of a Service.
func (c *Config) members(all []*discovery.EndpointSlice) discover.Answer[string] {
	var answer discover.Answer[string]
	types := c.addressTypes(all)
	anyReady := slices.ContainsFunc(all, func(s *discovery.EndpointSlice) bool {
		return slices.Contains(types, s.AddressType) && slices.ContainsFunc(s.Endpoints, isReady)
	})
	for _, slice := range all {
		if !slices.Contains(types, slice.AddressType) || len(slice.Endpoints) == 0 {
			continue
		}
		port, err := c.portOf(slice)
		if err != nil {
			answer.Skipped = append(answer.Skipped, fmt.Errorf("EndpointSlice %s: %w", slice.Name, err))
			continue
		}
		for _, e := range slice.Endpoints {
			weight, is := weightOf(e, anyReady)
			if !is || len(e.Addresses) == 0 {
				continue
			}
			answer.Members = append(answer.Members, evenkeel.Member[string]{
				Backend: net.JoinHostPort(e.Addresses[0], port), // further ones have no meaning, by the API's own words
				Weight:  weight,
				Tier:    c.tier(&e),
			})
		}
	}
	return answer
}

// addressTypes returns the kinds of slices that are used.
func (c *Config) addressTypes(all []*discovery.EndpointSlice) []discovery.AddressType {
	used := []discovery.AddressType{discovery.AddressTypeFQDN}
	switch c.Family {
	case discover.FamilyIPv4:
		return append(used, discovery.AddressTypeIPv4)
	case discover.FamilyIPv6:
		return append(used, discovery.AddressTypeIPv6)
	case discover.FamilyBoth:
		return append(used, discovery.AddressTypeIPv4, discovery.AddressTypeIPv6)
	}
	if slices.ContainsFunc(all, func(s *discovery.EndpointSlice) bool {
		return s.AddressType == discovery.AddressTypeIPv4 && len(s.Endpoints) > 0
	}) {
		return append(used, discovery.AddressTypeIPv4)
	}
	return append(used, discovery.AddressTypeIPv6)
}

// weightOf returns the weight of an endpoint, if it is a member at all. What is not known
// of an endpoint counts as the API has it: it is ready, and serves if it is ready.
func weightOf(e discovery.Endpoint, anyReady bool) (weight float64, is bool) {
	terminating := e.Conditions.Terminating != nil && *e.Conditions.Terminating
	switch {
	case isReady(e):
		return 1, true
	case !terminating:
		return 0, false
	case !anyReady && e.Conditions.Serving != nil && *e.Conditions.Serving:
		return 1, true
	}
	return 0, true
}

func isReady(e discovery.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready }
