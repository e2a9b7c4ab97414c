package pipelinefile

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/agentry-dev/agentry/internal/githubapp"
)

// appIdle is how long an unused app is remembered. Its key was replaced, or its pipelines are gone.
const appIdle = time.Hour

// apps holds the token sources of GitHub Apps, one for each app, installation and connection to the API, so
// that all pipelines share a token.
type apps struct {
	mu   sync.Mutex
	kept map[[sha256.Size]byte]*keptApp
}

type keptApp struct {
	source *githubapp.Source
	used   time.Time
}

func newApps() *apps { return &apps{kept: map[[sha256.Size]byte]*keptApp{}} }

// source returns the source of an app. A new key gives a new source.
func (a *apps) source(cfg githubapp.Config) (*githubapp.Source, error) {
	if cfg.InstallationID > 0 {
		cfg.Repository = "" // it serves only to find the installation
	}
	text, err := json.Marshal(cfg)
	if err != nil {
		return nil, err
	}
	key, now := sha256.Sum256(text), time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if app := a.kept[key]; app != nil {
		app.used = now
		return app.source, nil
	}
	source, err := githubapp.New(cfg)
	if err != nil {
		return nil, err
	}
	for other, app := range a.kept {
		if now.Sub(app.used) > appIdle {
			delete(a.kept, other)
		}
	}
	a.kept[key] = &keptApp{source: source, used: now}
	return source, nil
}

// appIdentity returns a string for the rights of an app. The key is not part of it.
func appIdentity(cfg githubapp.Config) string {
	if cfg.InstallationID > 0 {
		return fmt.Sprintf("github-app %s %d installation %d", cfg.URL, cfg.AppID, cfg.InstallationID)
	}
	return fmt.Sprintf("github-app %s %d repository %s", cfg.URL, cfg.AppID, cfg.Repository)
}
