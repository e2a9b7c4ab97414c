package replica

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
)

// problems are what does not work with the Leases at the moment.
type problems struct {
	log *slog.Logger

	mu    sync.Mutex
	texts map[string]string // by what does not work
}

// report logs once that something does not work, and once that it works again.
func (p *problems) report(what string, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	p.mu.Lock()
	before := p.texts[what]
	if p.texts[what] = text; text == "" {
		delete(p.texts, what)
	}
	p.mu.Unlock()
	switch {
	case text != "" && before == "":
		p.log.Warn("leases: trouble", "what", what, "err", text)
	case text == "" && before != "":
		p.log.Info("leases: trouble is over", "what", what)
	}
}

// list is the present problems, in order.
func (p *problems) list() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, what := range slices.Sorted(maps.Keys(p.texts)) {
		out = append(out, what+": "+p.texts[what])
	}
	return out
}
