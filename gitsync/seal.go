package gitsync

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/seal"
	"github.com/agentry-dev/agentry/inputs/sops"
)

// Sealing holds the key and the rules for encryption under the secrets policy sops.
type Sealing struct {
	Key   []byte     // by which a pass knows again what it encrypted
	Rules sops.Rules // for whom, if the pipeline names no recipients itself
}

// sealing encrypts the Secrets of a pipeline under the policy sops. Without a sealer it does nothing.
type sealing struct {
	sealer   *seal.Sealer
	settings *pipeline.SOPS
	with     Sealing
}

// use sets the keys and recipients, and reports whether they changed. Then every encrypted file changes too.
func (s *sealing) use(secrets *pipeline.Secrets, workers *sops.Workers, with Sealing) (changed bool, err error) {
	switch {
	case !secrets.Seals() || s.sealer != nil && reflect.DeepEqual(with, s.with):
		return false, nil
	case len(with.Key) < seal.MinKeyBytes: // who uses this package forgot the credential
		return false, fmt.Errorf("the secrets policy sops needs a key of at least %d bytes", seal.MinKeyBytes)
	}
	*s = sealing{seal.New(workers, with.Key), secrets.SOPS, with}
	return true, nil
}

// sum returns the text that pods have instead of a checksum of the secrets in their configuration.
func (s *sealing) sum(config manifest.ID, checksum string) string {
	return s.sealer.Sum("inlined", config, checksum)
}

// recipients returns the recipients of a file of the output, by its path from the root of the branch.
func (s *sealing) recipients(name string) (sops.Recipients, error) {
	if own := s.settings.Recipients(); !own.IsEmpty() {
		return own, nil
	}
	to, ok := s.with.Rules.For(name)
	if !ok {
		return to, fmt.Errorf("encrypt Secrets: no rule of %s matches %s: add one whose path_regex does",
			s.settings.CreationRules, name)
	}
	return to, nil
}

// seal encrypts the Secrets of a plan. proposed is the tip of the proposed branch, if there is one.
func (s *sealing) seal(ctx context.Context, planned *plan.Plan, options *Options, proposed repo.Tip,
	rd *object.Reader) error {
	if s.sealer == nil {
		return nil
	}
	with := plan.Sealing{Sealer: s.sealer, To: s.recipients, Redact: options.DryRun && !options.Encrypt,
		Known: options.Encrypted}
	if with.Known == nil && proposed.Exists() {
		with.Known = func(name string) ([]byte, error) {
			commit, err := rd.Commit(proposed.Commit)
			if errors.Is(err, object.ErrNotFound) {
				return nil, nil
			}
			if err != nil {
				return nil, err
			}
			return branch.ReadFile(rd, commit.Tree, name)
		}
	}
	return planned.Seal(ctx, with)
}

// reviewed returns units as a report may show them. Under the policy sops these are copies with the encrypted files of
// the plan, which may be nil. Files that the plan does not write have placeholders for values.
func (s *sealing) reviewed(units []*generator.Unit, planned *plan.Plan) []*generator.Unit {
	if s.sealer == nil {
		return units
	}
	out := make([]*generator.Unit, len(units))
	for i, u := range units {
		shown := *u
		shown.Files = plan.Redacted(u.Files)
		if planned != nil {
			if files := planned.Written(u.Name); files != nil {
				shown.Files = files
			}
		}
		out[i] = &shown
	}
	return out
}
