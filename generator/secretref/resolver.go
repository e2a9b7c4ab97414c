package secretref

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
)

// Dir is the folder in the pods that has the files of all references.
const Dir = "/var/lib/grafana-agent/secrets"

// Ref names a key of a Secret or ConfigMap.
type Ref struct {
	Kind            string // Secret or ConfigMap
	Namespace, Name string
	Key             string
	Optional        bool
}

// String returns the reference as messages show it. Without a key, it refers to the whole object.
func (r Ref) String() string {
	if r.Key == "" {
		return fmt.Sprintf("%s %s/%s", r.Kind, r.Namespace, r.Name)
	}
	return fmt.Sprintf("%s %s/%s, key %s", r.Kind, r.Namespace, r.Name, r.Key)
}

// ID returns the ID of the Secret or ConfigMap.
func (r Ref) ID() manifest.ID {
	return manifest.ID{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// objects returns the Secret or ConfigMap for Related of a diagnostic.
func (r Ref) objects() []diag.Object {
	return []diag.Object{{APIVersion: "v1", Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}}
}

// FileName returns the name of the reference's file below [Dir], which is also its key in the shared Secret. It has
// the operator's format, in which two references can have the same name.
func (r Ref) FileName() string {
	prefix := "/secrets/"
	if r.Kind == "ConfigMap" {
		prefix = "/configMaps/"
	}
	return strings.Map(func(c rune) rune {
		if c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			return c
		}
		return '_'
	}, prefix+r.Namespace+"/"+r.Name+"/"+r.Key)
}

// same reports whether two references name the same key.
func (r Ref) same(other Ref) bool {
	r.Optional = other.Optional
	return r == other
}

// use is the first reference that claimed a file name.
type use struct {
	ref    Ref
	policy Policy
	object *manifest.Object
	path   string
	data   []byte
	env    Group // pods that use it as an environment variable
	file   Group // pods that use it as a file
}

// Resolver resolves the references of one hierarchy and records what its pods need. It is not safe for concurrent use.
type Resolver struct {
	set      *manifest.Set
	policies Policies
	agent    manifest.ID // the GrafanaAgent
	group    Group
	uses     map[string]*use
	listed   []*listing
	looked   map[manifest.ID]*manifest.Object
	diags    diag.List
	reported map[string]bool // see [Scope.addOnce]
	left     map[manifest.ID]bool
	// substituted means that values of environment variables are replaced in the text of the configuration.
	substituted bool
}

// New returns a Resolver for a GrafanaAgent.
func New(set *manifest.Set, policies Policies, agent manifest.ID) *Resolver {
	return &Resolver{set: set, policies: policies, agent: agent, group: All,
		uses: map[string]*use{}, looked: map[manifest.ID]*manifest.Object{}, reported: map[string]bool{}}
}

// LeaveOut sets the Secrets and ConfigMaps that are left out because they have errors. Content treats them as absent.
func (r *Resolver) LeaveOut(left map[manifest.ID]bool) { r.left = left }

// Substitute sets whether the values of environment variables are replaced in the text of the configuration.
func (r *Resolver) Substitute(yes bool) { r.substituted = yes }

// Diags returns the problems found so far. Each is about the object with the reference.
func (r *Resolver) Diags() diag.List { return r.diags }

// Look returns an object of the set, and records the lookup for [Resolver.Dependencies].
func (r *Resolver) Look(id manifest.ID) *manifest.Object {
	o := r.set.Get(id)
	r.looked[id] = o
	if r.left[id] {
		return nil
	}
	return o
}

// Dependencies returns all objects that were looked up. The value of an object that is not in the set is nil.
func (r *Resolver) Dependencies() map[manifest.ID]*manifest.Object { return r.looked }

// Scope resolves the references of one object. They are in the object's namespace.
type Scope struct {
	*Resolver
	object *manifest.Object
}

// In returns the Scope of an object. It copies all references of the object that are Plaintext, even those that are
// never rendered. As with the operator, a missing key is always an error, but a missing Secret or ConfigMap only where
// it is rendered: the Secret of a container's environment does not have to be in Git.
func (r *Resolver) In(o *manifest.Object) Scope {
	s := Scope{Resolver: r, object: o}
	if !r.policies.Any(Plaintext) {
		return s
	}
	for _, f := range References(o) {
		if r.policyOf(f.Ref) == Plaintext && s.Look(f.Ref.ID()) != nil {
			s.claim(f.Path, f.Ref)
		}
	}
	return s
}

func (s Scope) ref(kind, name, key string, optional *bool) Ref {
	return Ref{Kind: kind, Namespace: s.object.Namespace, Name: name, Key: key, Optional: optional != nil && *optional}
}

func (s Scope) secretOrConfigMap(r monitoringv1.SecretOrConfigMap) (Ref, bool) {
	switch {
	case r.Secret != nil:
		return s.ref("Secret", r.Secret.Name, r.Secret.Key, r.Secret.Optional), true
	case r.ConfigMap != nil:
		return s.ref("ConfigMap", r.ConfigMap.Name, r.ConfigMap.Key, r.ConfigMap.Optional), true
	}
	return Ref{}, false
}

// Value resolves a reference for a field that accepts a value or a file.
func (s Scope) Value(path string, sel *corev1.SecretKeySelector) model.Secret {
	ref := s.ref("Secret", sel.Name, sel.Key, sel.Optional)
	if s.policyOf(ref) == Reference {
		return model.Secret{File: s.file(path, ref)}
	}
	return s.inline(path, ref)
}

// File resolves a reference for a field that accepts a path. It returns "" if the reference is not set or does not
// resolve.
func (s Scope) File(path string, sel monitoringv1.SecretOrConfigMap) string {
	ref, ok := s.secretOrConfigMap(sel)
	if !ok {
		return ""
	}
	return s.file(path, ref)
}

// ValueOnly resolves a reference for a field that does not accept a file.
func (s Scope) ValueOnly(path string, sel monitoringv1.SecretOrConfigMap) model.Secret {
	ref, ok := s.secretOrConfigMap(sel)
	if !ok {
		return model.Secret{}
	}
	if s.policyOf(ref) == Plaintext {
		return s.inline(path, ref)
	}
	u := s.claim(path, ref)
	if u == nil {
		return model.Secret{}
	}
	if problem := unfit(u.data); s.substituted && problem != "" && !isEncrypted(u.data) {
		s.addOnce(diag.SecretNotText.At(path,
			"%s becomes an environment variable, but contains %s: the config reloader writes it between single "+
				"quotes without escaping, so the agent would refuse the whole configuration or use another value",
			ref, problem).
			WithHint("change the value; or give the Secret the policy plaintext, by a rule of secrets.rules in "+
				"the pipeline").With(ref.objects()...), "")
		return model.Secret{}
	}
	u.env |= s.group
	d := s.object.Place(diag.SecretAsEnv.At(path,
		"%s becomes an environment variable: the agent has no file field for it", ref))
	d.Hint = "it must exist before the pods start; rotating it needs a restart"
	s.diags = append(s.diags, d)
	return model.Secret{Env: envName(ref)}
}

// Content returns configuration that is kept in a Secret, and the Secret. Under every policy the Secret must be in the
// inputs: Content reports a missing one and returns nil. If the Secret is left out because it has an error, the
// content is nil and nothing is reported.
func (s Scope) Content(path string, sel *corev1.SecretKeySelector) ([]byte, *manifest.Object) {
	ref := s.ref("Secret", sel.Name, sel.Key, sel.Optional)
	if s.set.IsLeftOut(ref.ID()) || s.left[ref.ID()] {
		s.Look(ref.ID())
		return nil, nil
	}
	data, ok := s.lookup(path, ref, true)
	if !ok {
		return nil, nil
	}
	return data, s.looked[ref.ID()]
}

// file claims a file and returns its path, or "" if the reference does not resolve.
func (s Scope) file(path string, ref Ref) string {
	u := s.claim(path, ref)
	if u == nil {
		return ""
	}
	u.file |= s.group
	return Dir + "/" + ref.FileName()
}

func (s Scope) inline(path string, ref Ref) model.Secret {
	u := s.claim(path, ref)
	if u == nil {
		return model.Secret{}
	}
	if !utf8.Valid(u.data) {
		s.addOnce(diag.SecretNotText.At(path, "%s must be written into the configuration, but is not UTF-8 text", ref).
			With(ref.objects()...), "")
		return model.Secret{}
	}
	return model.Secret{Value: string(u.data), Set: true}
}

// unfit describes the part of a value that the agent would not read unchanged, or returns "". The config reloader
// replaces $(NAME) between the single quotes of a YAML scalar, in which the agent then expands ${NAME} and $$.
func unfit(value []byte) string {
	text := string(value)
	switch {
	case !utf8.ValidString(text):
		return "bytes that are not UTF-8 text"
	case strings.ContainsAny(text, "\n\r\u0085\u2028\u2029"):
		return "a line break"
	case strings.ContainsRune(text, '\''):
		return "a single quote"
	case strings.Contains(text, "${"), strings.Contains(text, "$$"):
		return "a dollar sign before { or before another one"
	case strings.ContainsFunc(text, isControl):
		return "a control character"
	}
	return ""
}

// isControl reports whether a character is not allowed in YAML.
func isControl(r rune) bool {
	return r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0xfeff || r == 0xfffe || r == 0xffff
}

func envName(ref Ref) string { return "AGENTRY" + ref.FileName() }

// report adds an error about the scope's object, without related objects.
func (s Scope) report(code diag.Code, path, hint, format string, args ...any) {
	s.addOnce(code.At(path, format, args...).WithHint(hint), "")
}

// addOnce adds an error about the scope's object, unless an error with the same key was added. The default key is the
// message.
func (s Scope) addOnce(f diag.Diagnostic, key string) {
	f.Severity = diag.Error
	d := s.object.Place(f)
	key = s.object.ID.String() + "\n" + cmp.Or(key, d.Problem())
	if !s.reported[key] {
		s.reported[key] = true
		s.diags = append(s.diags, d)
	}
}

// Object returns the scope's object.
func (s Scope) Object() *manifest.Object { return s.object }

// Known returns the content of a reference under Plaintext, or nil. It reports nothing.
func (s Scope) Known(sel monitoringv1.SecretOrConfigMap) []byte {
	ref, ok := s.secretOrConfigMap(sel)
	if !ok || s.policyOf(ref) != Plaintext {
		return nil
	}
	o := s.Look(ref.ID())
	if o == nil {
		return nil
	}
	data, _ := content(o, ref.Key)
	return data
}

// IsEmptyText reports whether the field at path is set to "".
func (s Scope) IsEmptyText(path string) bool { return s.object.IsEmptyText(path) }

// LiteralsAllowed reports whether the default policy allows rendering secrets that are written directly in a custom
// resource.
func (s Scope) LiteralsAllowed() bool { return s.policies.Default == Plaintext }

// policyOf returns the policy of the object that a reference names.
func (r *Resolver) policyOf(ref Ref) Policy {
	if len(r.policies.Rules) == 0 {
		return r.policies.Default
	}
	return r.policies.Of(ref.ID(), r.Look(ref.ID()))
}

// CanInline reports whether the configuration can contain the value of any Secret.
func (r *Resolver) CanInline() bool { return r.policies.Any(Plaintext) }

// IsEncrypted reports whether the Secrets in the output are encrypted. Everything else is in plain text.
func (r *Resolver) IsEncrypted() bool { return r.policies.Encrypted }

// HasShared reports whether there is a shared Secret: always if the default policy is Plaintext, as with the operator.
func (r *Resolver) HasShared() bool { return r.policies.Default == Plaintext || len(r.Data()) > 0 }
