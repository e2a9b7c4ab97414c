package agentconfig

import (
	"net/url"
	"time"

	"github.com/prometheus/common/model"

	"github.com/agentry-dev/agentry/generator/agentyaml"
)

// The agent refuses writers and clients without a name that are equal to it: it compares
// them after filling in its defaults, and with their secrets masked. The texts here are
// equal where it finds them equal.

// filled is a writer with what the agent takes for absent fields.
func filled(w agentyaml.RemoteWrite) agentyaml.RemoteWrite {
	w.RemoteTimeout = spelled(w.RemoteTimeout, 30*time.Second)
	w.Queue = filledQueue(w.Queue)
	if w.Metadata == nil {
		w.Metadata = &agentyaml.Metadata{Send: true}
	}
	w.Metadata = &agentyaml.Metadata{Send: w.Metadata.Send, SendInterval: spelled(w.Metadata.SendInterval, time.Minute)}
	if w.TLS == nil {
		w.TLS = &agentyaml.TLS{}
	}
	return w
}

func maskedText(w agentyaml.RemoteWrite) string {
	w = filled(w)
	w.URL, w.ProxyURL = withoutPassword(w.URL), withoutPassword(w.ProxyURL)
	if a := w.Authorization; a != nil && a.Credentials.Set {
		c := *a
		c.Credentials.Value = "<secret>"
		w.Authorization = &c
	}
	if s := w.SigV4; s != nil && s.SecretKey.Present() {
		c := *s
		c.SecretKey = agentyaml.Secret{Value: "<secret>", Set: true}
		w.SigV4 = &c
	}
	return fullText(w)
}

func filledQueue(q *agentyaml.Queue) *agentyaml.Queue {
	out := agentyaml.Queue{}
	if q != nil {
		out = *q
	}
	return &agentyaml.Queue{
		Capacity: orNumber(out.Capacity, 10000), MinShards: orNumber(out.MinShards, 1), MaxShards: orNumber(out.MaxShards, 50),
		MaxSamplesPerSend: orNumber(out.MaxSamplesPerSend, 2000),
		BatchSendDeadline: spelled(out.BatchSendDeadline, 5*time.Second),
		MinBackoff:        spelled(out.MinBackoff, 30*time.Millisecond),
		MaxBackoff:        spelled(out.MaxBackoff, 5*time.Second),
	}
}

func fullText(w agentyaml.RemoteWrite) string {
	return string(agentyaml.Encode(&agentyaml.Config{Metrics: &agentyaml.Metrics{Global: agentyaml.Global{RemoteWrite: []agentyaml.RemoteWrite{w}}}}))
}

// filledClient is a client with what the agent takes for absent fields.
func filledClient(c agentyaml.LogsClient) agentyaml.LogsClient {
	c.BatchWait, c.Timeout = spelled(c.BatchWait, time.Second), spelled(c.Timeout, 10*time.Second)
	c.BatchSize = orNumber(c.BatchSize, 1<<20)
	backoff := agentyaml.Backoff{}
	if c.Backoff != nil {
		backoff = *c.Backoff
	}
	c.Backoff = &agentyaml.Backoff{
		MinPeriod:  spelled(backoff.MinPeriod, 500*time.Millisecond),
		MaxPeriod:  spelled(backoff.MaxPeriod, 5*time.Minute),
		MaxRetries: orNumber(backoff.MaxRetries, 10),
	}
	if c.TLS == nil {
		c.TLS = &agentyaml.TLS{}
	}
	return c
}

// maskedClient is the text of a client as the agent compares it.
func maskedClient(c agentyaml.LogsClient) string {
	c = filledClient(c)
	c.URL, c.ProxyURL = withoutPassword(c.URL), withoutPassword(c.ProxyURL)
	mask := agentyaml.Secret{Value: "<secret>", Set: true}
	if c.BearerToken.Set {
		c.BearerToken = mask
	}
	if c.BasicAuth != nil && c.BasicAuth.Password.Set {
		c.BasicAuth = &agentyaml.BasicAuth{Username: c.BasicAuth.Username, Password: mask}
	}
	return clientText(c)
}

func clientText(c agentyaml.LogsClient) string {
	return string(agentyaml.Encode(&agentyaml.Config{Logs: &agentyaml.Logs{Configs: []agentyaml.LogsInstance{{Clients: []agentyaml.LogsClient{c}}}}}))
}

func withoutPassword(text string) string {
	if u, err := url.Parse(text); err == nil {
		return u.Redacted()
	}
	return text
}

// spelled is the one spelling of a duration; of the default one when there is none.
func spelled(text string, def time.Duration) string {
	if text == "" {
		return def.String()
	}
	if d, err := time.ParseDuration(text); err == nil {
		return d.String()
	}
	if d, err := model.ParseDuration(text); err == nil {
		return time.Duration(d).String()
	}
	return text
}

func orNumber(n, def int64) int64 {
	if n == 0 {
		return def
	}
	return n
}
