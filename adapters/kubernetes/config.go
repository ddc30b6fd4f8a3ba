package kubernetes

import (
	"errors"
	"fmt"
	"strconv"

	discovery "k8s.io/api/discovery/v1"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/discover"
)

// Config says which endpoints of a Service become which members. Its zero value is right
// for a Service with one port.
type Config struct {
	// Port is the port's name in the Service, or its number at the endpoints. "": the
	// only one there is.
	Port string

	// Family says which addresses of a dual-stack Service are used.
	Family discover.Family

	// Zone is the zone of this process, such as the label topology.kubernetes.io/zone of
	// its node. Endpoints of the same zone are then tier 0, all others tier 1. "": all are
	// tier 0.
	Zone string
}

func badConfig(format string, args ...any) error {
	return fmt.Errorf("%w: kubernetes: %s", evenkeel.ErrBadConfig, fmt.Sprintf(format, args...))
}

// portOf returns the number of the port at the endpoints of a slice.
func (c *Config) portOf(slice *discovery.EndpointSlice) (string, error) {
	if c.Port == "" {
		if len(slice.Ports) != 1 || slice.Ports[0].Port == nil {
			return "", fmt.Errorf("it has %d ports; set kubernetes.Config.Port", len(slice.Ports))
		}
		return number(*slice.Ports[0].Port), nil
	}
	for _, p := range slice.Ports {
		if p.Port == nil {
			continue
		}
		if n := number(*p.Port); p.Name != nil && *p.Name == c.Port || n == c.Port {
			return n, nil
		}
	}
	return "", errors.New("it has no port " + strconv.Quote(c.Port))
}

func number(port int32) string { return strconv.Itoa(int(port)) }

// tier is that of an endpoint.
func (c *Config) tier(e *discovery.Endpoint) int {
	if c.Zone == "" || e.Zone != nil && *e.Zone == c.Zone {
		return 0
	}
	return 1
}
