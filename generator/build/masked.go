package build

import (
	"net/url"
	"time"

	prommodel "github.com/prometheus/common/model"

	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtime/agent"
)

// The agent refuses writers and clients without a name that are equal to it: it compares
// them after filling in its defaults, and with their secrets masked. The texts here are
// equal where it finds them equal.

// filled is a writer with what the agent takes for absent fields.
func filled(w model.RemoteWrite) model.RemoteWrite {
	w.RemoteTimeout = spelled(w.RemoteTimeout, 30*time.Second)
	w.Queue = filledQueue(w.Queue)
	if w.Metadata == nil {
		w.Metadata = &model.Metadata{Send: true}
	}
	w.Metadata = &model.Metadata{Send: w.Metadata.Send, SendInterval: spelled(w.Metadata.SendInterval, time.Minute)}
	if w.TLS == nil {
		w.TLS = &model.TLS{}
	}
	return w
}

func maskedText(w model.RemoteWrite) string {
	w = filled(w)
	w.URL, w.ProxyURL = withoutPassword(w.URL), withoutPassword(w.ProxyURL)
	if a := w.Authorization; a != nil && a.Credentials.Set {
		c := *a
		c.Credentials.Value = "<secret>"
		w.Authorization = &c
	}
	if s := w.SigV4; s != nil && s.SecretKey.Present() {
		c := *s
		c.SecretKey = model.Secret{Value: "<secret>", Set: true}
		w.SigV4 = &c
	}
	return fullText(w)
}

func filledQueue(q *model.Queue) *model.Queue {
	out := model.Queue{}
	if q != nil {
		out = *q
	}
	return &model.Queue{
		Capacity: orNumber(out.Capacity, 10000), MinShards: orNumber(out.MinShards, 1), MaxShards: orNumber(out.MaxShards, 50),
		MaxSamplesPerSend: orNumber(out.MaxSamplesPerSend, 2000),
		BatchSendDeadline: spelled(out.BatchSendDeadline, 5*time.Second),
		MinBackoff:        spelled(out.MinBackoff, 30*time.Millisecond),
		MaxBackoff:        spelled(out.MaxBackoff, 5*time.Second),
	}
}

func fullText(w model.RemoteWrite) string {
	return string(agent.Print(&model.Config{Metrics: &model.Metrics{Global: model.Global{RemoteWrite: []model.RemoteWrite{w}}}}))
}

// filledClient is a client with what the agent takes for absent fields.
func filledClient(c model.LogsClient) model.LogsClient {
	c.BatchWait, c.Timeout = spelled(c.BatchWait, time.Second), spelled(c.Timeout, 10*time.Second)
	c.BatchSize = orNumber(c.BatchSize, 1<<20)
	backoff := model.Backoff{}
	if c.Backoff != nil {
		backoff = *c.Backoff
	}
	c.Backoff = &model.Backoff{
		MinPeriod:  spelled(backoff.MinPeriod, 500*time.Millisecond),
		MaxPeriod:  spelled(backoff.MaxPeriod, 5*time.Minute),
		MaxRetries: orNumber(backoff.MaxRetries, 10),
	}
	if c.TLS == nil {
		c.TLS = &model.TLS{}
	}
	return c
}

// maskedClient is the text of a client as the agent compares it.
func maskedClient(c model.LogsClient) string {
	c = filledClient(c)
	c.URL, c.ProxyURL = withoutPassword(c.URL), withoutPassword(c.ProxyURL)
	mask := model.Secret{Value: "<secret>", Set: true}
	if c.BearerToken.Set {
		c.BearerToken = mask
	}
	if c.BasicAuth != nil && c.BasicAuth.Password.Set {
		c.BasicAuth = &model.BasicAuth{Username: c.BasicAuth.Username, Password: mask}
	}
	return clientText(c)
}

func clientText(c model.LogsClient) string {
	return string(agent.Print(&model.Config{Logs: &model.Logs{Configs: []model.LogsInstance{{Clients: []model.LogsClient{c}}}}}))
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
	if d, err := prommodel.ParseDuration(text); err == nil {
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
