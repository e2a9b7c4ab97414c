// Package scrapetarget is what Prometheus's scrape manager does with a target before and after the rules of its job.
package scrapetarget

import (
	"cmp"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// Settings are those of a job that its targets get unless their labels say otherwise. Empty texts are Prometheus's
// defaults.
type Settings struct {
	Job, Interval, Timeout, Path, Scheme string
	Params                               map[string][]string
}

// Before sets the labels that the job gives a target unless service discovery sets them.
func (s Settings) Before(lb *labels.Builder) {
	set := func(name, value string) {
		if lb.Get(name) == "" {
			lb.Set(name, value)
		}
	}
	set(model.JobLabel, s.Job)
	set(model.ScrapeIntervalLabel, cmp.Or(s.Interval, "1m"))
	set(model.ScrapeTimeoutLabel, cmp.Or(s.Timeout, "10s"))
	set(model.MetricsPathLabel, cmp.Or(s.Path, "/metrics"))
	set(model.SchemeLabel, cmp.Or(s.Scheme, "http"))
	for name, values := range s.Params {
		if len(values) > 0 {
			set(model.ParamLabelPrefix+name, values[0])
		}
	}
}

// After gives a target that the rules keep its instance and the port of its scheme, and takes the labels away that
// are not stored. It returns the URL to scrape, or why the target cannot be scraped.
func (s Settings) After(lb *labels.Builder) (scraped *url.URL, why string) {
	address := lb.Get(model.AddressLabel)
	switch {
	case address == "":
		return nil, "it has no " + model.AddressLabel
	case strings.Contains(address, "/"):
		return nil, model.AddressLabel + " has a slash, and is no host with a port"
	}
	address = withPort(address, lb.Get(model.SchemeLabel))
	lb.Set(model.AddressLabel, address)
	if lb.Get(model.InstanceLabel) == "" {
		lb.Set(model.InstanceLabel, address)
	}
	scraped = s.url(lb)
	lb.Range(func(l labels.Label) {
		if strings.HasPrefix(l.Name, model.ReservedLabelPrefix) {
			lb.Del(l.Name)
		}
	})
	return scraped, ""
}

// withPort returns the address with the port of its scheme, if it has none.
func withPort(address, scheme string) string {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	port := ":80"
	if scheme == "https" {
		port = ":443"
	}
	if _, _, err := net.SplitHostPort(address + port); err != nil {
		return address
	}
	return address + port
}

// url returns the URL to scrape.
func (s Settings) url(lb *labels.Builder) *url.URL {
	params := url.Values{}
	for name, values := range s.Params {
		params[name] = slices.Clone(values)
	}
	lb.Range(func(l labels.Label) {
		name, is := strings.CutPrefix(l.Name, model.ParamLabelPrefix)
		switch {
		case !is:
		case len(params[name]) > 0:
			params[name][0] = l.Value
		default:
			params[name] = []string{l.Value}
		}
	})
	return &url.URL{Scheme: lb.Get(model.SchemeLabel), Host: lb.Get(model.AddressLabel),
		Path: lb.Get(model.MetricsPathLabel), RawQuery: params.Encode()}
}
