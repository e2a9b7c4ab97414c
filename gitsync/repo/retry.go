package repo

import (
	"context"
	"errors"
	"time"
)

// Retry calls f until it returns something other than [ErrLostRace], but at most attempts times. It passes since to
// [Repo.FetchSince], and sets it to the present before each retry, so that f asks the remote again.
func Retry[T any](ctx context.Context, attempts int, since time.Time,
	f func(ctx context.Context, since time.Time) (T, error)) (T, error) {
	for attempt := 1; ; attempt++ {
		result, err := f(ctx, since)
		if !errors.Is(err, ErrLostRace) || attempt == attempts || ctx.Err() != nil {
			return result, err
		}
		select { // the first retry is immediate, later ones are spread
		case <-ctx.Done():
		case <-time.After(time.Duration(attempt-1) * 50 * time.Millisecond):
		}
		since = time.Now()
	}
}
