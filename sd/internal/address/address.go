// Package address decides which addresses of pods may be asked. Tests ask loopback addresses;
// that only packages below sd can say so keeps the switch out of the product.
package address

import (
	"errors"
	"net/netip"
)

// Rule is what may be asked. The zero value is the product's.
type Rule struct {
	// AllowLoopback is for tests.
	AllowLoopback bool
}

// Check refuses what is no address of a pod: whoever writes EndpointSlices must not be able to
// send the aggregator to itself, to its node, or to the metadata service of a cloud.
func (r Rule) Check(addr netip.Addr) error {
	switch {
	case !addr.IsValid() || addr.Zone() != "" || addr.Is4In6():
		return errors.New("not a plain IP address")
	case addr.IsLoopback() && !r.AllowLoopback:
		return errors.New("a loopback address")
	case addr.IsUnspecified():
		return errors.New("an unspecified address")
	case addr.IsLinkLocalUnicast():
		return errors.New("a link-local address")
	case addr.IsMulticast() || addr == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return errors.New("a multicast or broadcast address")
	}
	return nil
}
