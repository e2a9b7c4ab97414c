package kustomize

import (
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/agentry-dev/agentry/generator/diag"
)

// leaveOutRemote leaves out the remote files of generators: they can only become values of ConfigMaps and Secrets, and
// no monitor is lost without them.
func (c *checker) leaveOutRemote(f *file) {
	before := len(c.warnings)
	for i := range f.ConfigMapGenerator {
		c.leaveOutSources(f, "configMapGenerator"+index(i), &f.ConfigMapGenerator[i].KvPairSources)
	}
	for i := range f.SecretGenerator {
		c.leaveOutSources(f, "secretGenerator"+index(i), &f.SecretGenerator[i].KvPairSources)
	}
	if len(c.warnings) > before {
		c.changed[f.name] = []byte(marshal(f.Kustomization))
	}
}

// leaveOutSources leaves out the remote files of one generator.
func (c *checker) leaveOutSources(f *file, field string, s *types.KvPairSources) {
	for _, e := range sources(field, *s) {
		if !isRemote(e.path) {
			continue
		}
		d := diag.BuildRefused.At("", "%s: is remote, so the object is built without it", e.field).As(diag.Warning).
			WithHint("copy it into the repository if an agent needs it")
		d.File, d.Line, d.Column = f.find(e.field)
		c.warnings = append(c.warnings, d)
	}
	isAway := func(text string) bool {
		_, file, isNamed := strings.Cut(text, "=")
		return isRemote(text) || isNamed && isRemote(file)
	}
	s.FileSources = slices.DeleteFunc(slices.Clone(s.FileSources), isAway)
	s.EnvSources = slices.DeleteFunc(slices.Clone(s.EnvSources), isRemote)
	if isRemote(s.EnvSource) {
		s.EnvSource = ""
	}
}
