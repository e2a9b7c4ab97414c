package pipelinefile

import (
	"fmt"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/seal"
	"github.com/agentry-dev/agentry/inputs/sops"
)

// sealing reads what the secrets policy sops encrypts with.
func (r *resolver) sealing(s pipeline.Secrets) (out gitsync.Sealing) {
	if s.SOPS == nil {
		return out
	}
	const at, rules = "spec.secrets.sops.hmacKey", "spec.secrets.sops.creationRules"
	if key := r.text(at, s.SOPS.HMACKeyFile, s.SOPS.HMACKeyEnv); key != "" {
		if out.Key = []byte(key); len(key) < seal.MinKeyBytes {
			r.fail(at, s.SOPS.HMACKeyFile,
				fmt.Errorf("has %d characters, and needs %d: make one with openssl rand -hex 32", len(key),
					seal.MinKeyBytes))
		}
	}
	name := s.SOPS.CreationRules
	if name == "" || r.pipeline.each != nil && usesFolder(name) {
		return out
	}
	r.named = append(r.named, Named{Field: rules, File: name})
	text, err := readFile(r.pipeline.resolve(name), MaxCredentialBytes)
	if err == nil {
		if out.Rules, err = sops.ParseRules(text); err != nil {
			err = fmt.Errorf("%s %w", name, err)
		}
	}
	if err != nil {
		r.failAt(rules, err)
	}
	return out
}
