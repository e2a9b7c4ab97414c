package pipeline_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

func TestRemedy(t *testing.T) {
	for err, want := range map[error]string{
		transport.ErrAuth: "credential", transport.ErrHostKey: "knownHostsFile", transport.ErrRepositoryNotFound: "url",
		transport.ErrRefNotFound: "ref",
		repo.ErrEmptyRepository:  "first commit", repo.ErrRejected: "push", repo.ErrCache: "--cache-dir",
		transport.ErrUnreachable: "", errors.New("other"): "",
	} {
		got := pipeline.Remedy(fmt.Errorf("fetch x: %w", err))
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}
