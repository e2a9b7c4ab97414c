package discover

import (
	"errors"
	"net/netip"
)

// checkAddress refuses an address that no pod can have. Otherwise anyone who writes EndpointSlices could send the
// aggregator to itself, to its node, or to the metadata service of a cloud.
func checkAddress(addr netip.Addr) error {
	switch {
	case !addr.IsValid() || addr.Zone() != "" || addr.Is4In6():
		return errors.New("not a plain IP address")
	case addr.IsLoopback():
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
