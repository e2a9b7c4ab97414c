package roots

import (
	"context"
	"errors"
	"testing"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// TestSubstitutionEndsWithThePass, for the reason of whoever ends it.
func TestSubstitutionEndsWithThePass(t *testing.T) {
	t.Parallel()
	ended := errors.New("the pass ends")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ended)
	v := Variables{Values: map[string]string{"A": "b"}}
	docs := []manifest.Built{{Text: []byte("a: ${A}\n")}}
	if _, err := v.substitute(ctx, docs, nil); !errors.Is(err, ended) {
		t.Error(err)
	}
}
