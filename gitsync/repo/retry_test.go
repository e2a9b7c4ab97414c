package repo_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentry-dev/agentry/gitsync/repo"
)

func TestRetry(t *testing.T) {
	lost := fmt.Errorf("push: %w", repo.ErrLostRace)
	for name, test := range map[string]struct {
		answers  []error
		attempts int
	}{
		"at once":            {[]error{nil}, 1},
		"after two races":    {[]error{lost, lost, nil}, 3},
		"never":              {[]error{lost, lost, lost, lost, lost}, 4},
		"for another reason": {[]error{lost, repo.ErrRejected, nil}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, attempts := time.Now(), 0
				_, err := repo.Retry(t.Context(), 4, began, func(_ context.Context, since time.Time) (int, error) {
					if !since.Equal(time.Now()) {
						t.Errorf("attempt %d takes an answer of %s ago", attempts, time.Since(since))
					}
					attempts++
					return attempts, test.answers[attempts-1]
				})
				if attempts != test.attempts || !errors.Is(err, test.answers[attempts-1]) {
					t.Errorf("%d attempts, %v", attempts, err)
				}
			})
		})
	}
}
