// Package scrapetarget is what Prometheus's scrape manager does with a target before and after the rules of its job.
package scrapetarget

import (
	"cmp"
	"net"
	"net/url"
	"slices"
	"strconv"
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
	interval, timeout := s.durations()
	set(model.JobLabel, s.Job)
	set(model.ScrapeIntervalLabel, interval)
	set(model.ScrapeTimeoutLabel, timeout)
	set(model.MetricsPathLabel, cmp.Or(s.Path, "/metrics"))
	set(model.SchemeLabel, cmp.Or(s.Scheme, "http"))
	for name, values := range s.Params {
		if len(values) > 0 {
			set(model.ParamLabelPrefix+name, values[0])
		}
	}
}

// durations returns the interval and the timeout of the job as Prometheus prints them. A timeout that the job does not
// set is not longer than its interval. References to variables are left as they are.
func (s Settings) durations() (interval, timeout string) {
	interval, timeout = cmp.Or(s.Interval, "1m"), cmp.Or(s.Timeout, "10s")
	every, isNotKnown := model.ParseDuration(interval)
	within, err := model.ParseDuration(timeout)
	if isNotKnown == nil {
		interval = every.String()
	}
	if err == nil {
		timeout = within.String()
	}
	if isNotKnown == nil && err == nil && within > every {
		timeout = interval
	}
	return interval, timeout
}

// Refusal says why a target that the rules keep cannot be scraped: Prometheus drops it with an error.
type Refusal struct {
	// Why is the reason, for all targets that are refused for it. Value is what this target has, if that tells more.
	Why, Value string
	// Labels are those that are to blame.
	Labels []string
}

// String says the reason, with what the target has.
func (r *Refusal) String() string {
	if r.Value == "" {
		return r.Why
	}
	return r.Why + ": " + r.Value
}

// After gives a target that the rules keep its instance and the port of its scheme, and takes the labels away that
// are not stored. It returns the URL to scrape, or why the target cannot be scraped.
func (s Settings) After(lb *labels.Builder) (*url.URL, *Refusal) {
	address := lb.Get(model.AddressLabel)
	switch {
	case address == "":
		return nil, &Refusal{Why: "it has no " + model.AddressLabel, Labels: []string{model.AddressLabel}}
	case strings.Contains(address, "/"):
		return nil, &Refusal{Why: model.AddressLabel + " has a slash, so it is not a host with a port",
			Labels: []string{model.AddressLabel}}
	}
	if refusal := s.refusedDurations(lb); refusal != nil {
		return nil, refusal
	}
	address = withPort(address, lb.Get(model.SchemeLabel))
	lb.Set(model.AddressLabel, address)
	if lb.Get(model.InstanceLabel) == "" {
		lb.Set(model.InstanceLabel, address)
	}
	scraped := s.url(lb)
	lb.Range(func(l labels.Label) {
		if strings.HasPrefix(l.Name, model.ReservedLabelPrefix) {
			lb.Del(l.Name)
		}
	})
	return scraped, nil
}

// refusedDurations says what is wrong with the interval and the timeout of a target. What the job itself has is
// checked with the job, and may be a reference to a variable.
func (s Settings) refusedDurations(lb *labels.Builder) *Refusal {
	var durations []model.Duration
	interval, timeout := s.durations()
	for _, of := range [...]struct{ label, own string }{{model.ScrapeIntervalLabel, interval},
		{model.ScrapeTimeoutLabel, timeout}} {
		value := lb.Get(of.label)
		d, err := model.ParseDuration(value)
		switch {
		case value == "":
			return &Refusal{Why: "it has no " + of.label, Labels: []string{of.label}}
		case err != nil && value == of.own:
		case err != nil:
			return &Refusal{Why: of.label + " is not a duration", Value: strconv.Quote(value),
				Labels: []string{of.label}}
		case d == 0:
			return &Refusal{Why: of.label + " is 0", Labels: []string{of.label}}
		default:
			durations = append(durations, d)
		}
	}
	if len(durations) == 2 && durations[1] > durations[0] {
		return &Refusal{Why: model.ScrapeTimeoutLabel + " is longer than " + model.ScrapeIntervalLabel,
			Value:  durations[1].String() + " > " + durations[0].String(),
			Labels: []string{model.ScrapeIntervalLabel, model.ScrapeTimeoutLabel}}
	}
	return nil
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
