package fleet

import "context"

// Idle waits until no pass is under way of what belongs to these keys, those of
// [Fleet.ShardKey], and the observers have been told of the last ones. It does not keep others
// from beginning: what is not [Ownership.Owns] any more has none. It is an error if ctx ends before.
func (f *Fleet) Idle(ctx context.Context, keys func(key string) bool) error {
	woken := make(chan struct{}, 1)
	f.mu.Lock()
	f.idlers[woken] = struct{}{}
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.idlers, woken)
	}()
	for f.isBusy(keys) {
		select {
		case <-woken:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	// A pass ends while its observers are being told, so they have been after this.
	if err := f.telling.take(ctx); err != nil {
		return err
	}
	f.telling.give()
	return nil
}

func (f *Fleet) isBusy(keys func(key string) bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.pipelines {
		if p.running && keys(p.status.ShardKey) {
			return true
		}
	}
	return false
}

// wakeIdlers lets them look again. f.mu is held.
func (f *Fleet) wakeIdlers() {
	for woken := range f.idlers {
		select {
		case woken <- struct{}{}:
		default:
		}
	}
}
