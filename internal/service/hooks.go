package service

import (
	"time"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/internal/webhook"
)

// hookRefresh is how often the secrets of webhooks are read again.
const hookRefresh = 10 * time.Second

// hookSecrets has the webhooks of one pipeline, as last read.
type hookSecrets struct {
	hooks []webhook.Hook
	err   string // the error that was logged
}

// refreshHooks reads the secrets of all webhooks again, because their files can change.
func (s *service) refreshHooks() {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	s.setHooks()
}

// setHooks passes all webhooks to the handler. A pipeline whose secrets cannot be read keeps its previous webhooks.
// s.reloading must be held.
func (s *service) setHooks() {
	next := map[string]hookSecrets{}
	var all []webhook.Hook
	for _, d := range s.fleet.Definitions() {
		if hasWebhook(d) {
			read := s.readHooks(d)
			next[d.Metadata.Name] = read
			all = append(all, read.hooks...)
		}
	}
	s.secrets = next
	s.hooks.Set(all)
}

func hasWebhook(d *fleet.Definition) bool {
	for i := range d.Spec.Sources {
		if d.Spec.Sources[i].Webhook != nil {
			return true
		}
	}
	return d.Spec.Output.Webhook != nil
}

func (s *service) readHooks(d *fleet.Definition) hookSecrets {
	before := s.secrets[d.Metadata.Name]
	secrets, err := s.loader.Secrets(d)
	var out hookSecrets
	for _, w := range secrets.Webhooks {
		out.hooks = append(out.hooks, webhook.Hook{Type: w.Type, Repository: w.Repository, Secrets: [][]byte{w.Secret}})
	}
	if err == nil {
		return out
	}
	if len(out.hooks) < len(before.hooks) {
		out.hooks = before.hooks
	}
	if out.err = err.Error(); out.err != before.err {
		s.log.Error("credentials of the service cannot be read; the previous ones stay in use", "pipeline",
			d.Metadata.Name, "err", err)
	}
	return out
}
