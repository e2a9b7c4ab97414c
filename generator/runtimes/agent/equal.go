package agent

import (
	"cmp"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	prommodel "github.com/prometheus/common/model"

	"github.com/agentry-dev/agentry/generator/model"
)

// The agent refuses equal writers or clients without a name. It compares them after setting its defaults, with their
// secrets masked, and without regular expressions. The functions below make values that are equal if the agent finds
// them equal.

// filled returns a writer with the agent's defaults for absent fields.
func filled(w model.RemoteWrite) model.RemoteWrite {
	w = bare(w)
	w.RemoteTimeout = spelled(w.RemoteTimeout, 30*time.Second)
	w.Queue = filledQueue(w.Queue)
	if w.Metadata == nil {
		w.Metadata = &model.Metadata{Send: true}
	}
	w.Metadata = &model.Metadata{Send: w.Metadata.Send, SendInterval: spelled(w.Metadata.SendInterval, time.Minute),
		MaxSamplesPerSend: or(w.Metadata.MaxSamplesPerSend, 2000)}
	w.SendExemplars, w.SendNativeHistograms = or(w.SendExemplars, true), or(w.SendNativeHistograms, false)
	w.WriteRelabel = rules(w.WriteRelabel, filledRule)
	if a := w.AzureAD; a != nil {
		c := *a
		c.Cloud = cmp.Or(c.Cloud, "AzurePublic")
		w.AzureAD = &c
	}
	return w
}

// maskedWriter returns a filled writer without what the agent does not compare.
func maskedWriter(w model.RemoteWrite) model.RemoteWrite {
	w = filled(w)
	w.URL = model.String(withoutPassword(string(w.URL)))
	w.HTTPAuth, w.Proxy = maskedAuth(w.HTTPAuth), maskedProxy(w.Proxy)
	w.WriteRelabel = rules(w.WriteRelabel, withoutRegex)
	if s := w.SigV4; s != nil && s.SecretKey.Present() {
		c := *s
		c.SecretKey = model.Secret{Value: "<secret>", Set: true}
		w.SigV4 = &c
	}
	if a := w.AzureAD; a != nil && a.OAuth != nil {
		c, o := *a, *a.OAuth
		o.ClientSecret = model.Secret{Value: "<secret>", Set: true}
		c.OAuth = &o
		w.AzureAD = &c
	}
	return w
}

// rules returns changed copies of rules.
func rules(list []*model.Relabel, change func(model.Relabel) model.Relabel) []*model.Relabel {
	out := make([]*model.Relabel, len(list))
	for i, r := range list {
		c := change(*r)
		out[i] = &c
	}
	return out
}

// filledRule returns a rule with the agent's defaults for absent fields.
func filledRule(r model.Relabel) model.Relabel {
	r.Written, r.Action = model.Written{}, strings.ToLower(cmp.Or(r.Action, "replace"))
	for text, standard := range map[*model.Text]string{&r.Separator: ";", &r.Regex: "(.*)", &r.Replacement: "$1"} {
		if !text.Set {
			*text = model.Present(standard)
		}
	}
	return r
}

// withoutRegex returns a rule without its expression: the agent hashes the JSON of a writer, in which every expression
// is {} (getHash in static/metrics/instance/instance.go).
func withoutRegex(r model.Relabel) model.Relabel {
	r.Regex = model.Text{}
	return r
}

func filledQueue(q *model.Queue) *model.Queue {
	out := model.Queue{}
	if q != nil {
		out = *q
	}
	return &model.Queue{
		Capacity: cmp.Or(out.Capacity, 10000), MinShards: cmp.Or(out.MinShards, 1),
		MaxShards:         cmp.Or(out.MaxShards, 50),
		MaxSamplesPerSend: cmp.Or(out.MaxSamplesPerSend, 2000),
		BatchSendDeadline: spelled(out.BatchSendDeadline, 5*time.Second),
		MinBackoff:        spelled(out.MinBackoff, 30*time.Millisecond),
		MaxBackoff:        spelled(out.MaxBackoff, 5*time.Second),
		RetryOn429:        or(out.RetryOn429, true),
		SampleAgeLimit:    spelled(out.SampleAgeLimit, 0),
	}
}

// or returns a value, or the default if it is absent.
func or[T any](v *T, standard T) *T {
	if v == nil {
		return &standard
	}
	return v
}

// filledClient returns a client with the agent's defaults for absent fields.
func filledClient(c model.LogsClient) model.LogsClient {
	c.Origin, c.HTTPAuth, c.TLS = model.Origin{}, bareAuth(c.HTTPAuth), bareTLS(c.TLS)
	c.ExternalLabels = orNil(c.ExternalLabels)
	c.BatchWait, c.Timeout = spelled(c.BatchWait, time.Second), spelled(c.Timeout, 10*time.Second)
	c.BatchSize = cmp.Or(c.BatchSize, 1<<20)
	backoff := model.Backoff{}
	if c.Backoff != nil {
		backoff = *c.Backoff
	}
	c.Backoff = &model.Backoff{
		MinPeriod:  spelled(backoff.MinPeriod, 500*time.Millisecond),
		MaxPeriod:  spelled(backoff.MaxPeriod, 5*time.Minute),
		MaxRetries: cmp.Or(backoff.MaxRetries, 10),
	}
	return c
}

// maskedClient returns a client as the agent compares it.
func maskedClient(c model.LogsClient) model.LogsClient {
	c = filledClient(c)
	c.URL, c.ProxyURL = model.String(withoutPassword(string(c.URL))), model.String(withoutPassword(string(c.ProxyURL)))
	c.HTTPAuth = maskedAuth(c.HTTPAuth)
	return c
}

func maskedSecret(s model.Secret) model.Secret {
	if s.Set {
		s.Value = "<secret>"
	}
	return s
}

func maskedAuth(a model.HTTPAuth) model.HTTPAuth {
	a.BearerToken = maskedSecret(a.BearerToken)
	if b := a.BasicAuth; b != nil {
		a.BasicAuth = &model.BasicAuth{Username: b.Username, Password: maskedSecret(b.Password)}
	}
	if h := a.Authorization; h != nil {
		a.Authorization = &model.Authorization{Type: h.Type, Credentials: maskedSecret(h.Credentials)}
	}
	if a.OAuth2 != nil {
		o := *a.OAuth2
		o.ClientSecret, o.Proxy = maskedSecret(o.ClientSecret), maskedProxy(o.Proxy)
		a.OAuth2 = &o
	}
	return a
}

func maskedProxy(p model.Proxy) model.Proxy {
	p.ProxyURL.Value = withoutPassword(p.ProxyURL.Value)
	if len(p.ConnectHeader) == 0 {
		return p
	}
	header := p.ConnectHeader
	p.ConnectHeader = map[string][]model.Secret{}
	for name, values := range header {
		for _, v := range values {
			p.ConnectHeader[name] = append(p.ConnectHeader[name], maskedSecret(v))
		}
	}
	return p
}

func withoutPassword(text string) string {
	if u, err := url.Parse(text); err == nil {
		return u.Redacted()
	}
	return text
}

// spelled returns the canonical spelling of a duration, or of the default if the text is empty.
func spelled(text model.String, def time.Duration) model.String {
	if text == "" {
		return model.String(def.String())
	}
	if d, err := time.ParseDuration(string(text)); err == nil {
		return model.String(d.String())
	}
	if d, err := prommodel.ParseDuration(string(text)); err == nil {
		return model.String(time.Duration(d).String())
	}
	return text
}

// bare returns a writer without its origin, and with nil for everything empty.
func bare(w model.RemoteWrite) model.RemoteWrite {
	w.Origin, w.HTTPClient = model.Origin{}, bareClient(w.HTTPClient)
	w.Headers = orNil(w.Headers)
	if w.Queue != nil && *w.Queue == (model.Queue{}) {
		w.Queue = nil
	}
	return w
}

func bareClient(c model.HTTPClient) model.HTTPClient {
	return model.HTTPClient{
		FollowRedirects: unless(c.FollowRedirects, true), EnableHTTP2: unless(c.EnableHTTP2, true),
		Proxy: bareProxy(c.Proxy), HTTPAuth: bareAuth(c.HTTPAuth), TLS: bareTLS(c.TLS),
	}
}

func bareProxy(p model.Proxy) model.Proxy {
	p.NoProxy, p.FromEnv = model.NonEmpty(p.NoProxy.Value), unless(p.FromEnv, false)
	return p
}

func bareAuth(a model.HTTPAuth) model.HTTPAuth {
	if a.OAuth2 != nil {
		o := *a.OAuth2
		o.EndpointParams = orNil(o.EndpointParams)
		if len(o.Scopes) == 0 {
			o.Scopes = nil
		}
		o.Proxy, o.TLS = bareProxy(o.Proxy), bareTLS(o.TLS)
		a.OAuth2 = &o
	}
	return a
}

func bareTLS(t *model.TLS) *model.TLS {
	if t == nil {
		return nil
	}
	out := *t
	out.InsecureSkipVerify = unless(out.InsecureSkipVerify, false)
	if out == (model.TLS{}) {
		return nil
	}
	return &out
}

// unless returns nil for the default, which means the same.
func unless(b *bool, def bool) *bool {
	if b != nil && *b == def {
		return nil
	}
	return b
}

func orNil[M ~map[string]V, V any](m M) M {
	if len(m) == 0 {
		return nil
	}
	return m
}

// classes groups equal values and returns their indexes, in order. Only values with the same key are compared: key
// must be equal for equal values, and cheap.
func classes[T any](list []T, key func(T) string, equal func(a, b T) bool) (out [][]int) {
	known := map[string][]int{} // indexes into out, by key
	for i := range list {
		k := key(list[i])
		at := slices.IndexFunc(known[k], func(class int) bool { return equal(list[out[class][0]], list[i]) })
		if at < 0 {
			known[k] = append(known[k], len(out))
			out = append(out, []int{i})
			continue
		}
		class := known[k][at]
		out[class] = append(out[class], i)
	}
	return out
}

// address returns where a writer sends to, and with which headers. Most writers differ in it.
func address(w model.RemoteWrite) string { return string(w.URL) + fmt.Sprint(w.Headers) }

func equalWriters(a, b model.RemoteWrite) bool { return reflect.DeepEqual(a, b) }

func equalClients(a, b model.LogsClient) bool { return reflect.DeepEqual(a, b) }
