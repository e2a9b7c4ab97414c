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

// Policy says what may become of secret bytes.
type Policy string

// The policies; see the package comment.
const (
	Reference Policy = "reference"
	Plaintext Policy = "plaintext"
)

// Dir is where pods find the files of all references.
const Dir = "/var/lib/grafana-agent/secrets"

// Ref is a key of a Secret or ConfigMap.
type Ref struct {
	Kind            string // Secret or ConfigMap
	Namespace, Name string
	Key             string
	Optional        bool
}

// String is how messages name a reference; one without a key is to the whole object.
func (r Ref) String() string {
	if r.Key == "" {
		return fmt.Sprintf("%s %s/%s", r.Kind, r.Namespace, r.Name)
	}
	return fmt.Sprintf("%s %s/%s, key %s", r.Kind, r.Namespace, r.Name, r.Key)
}

// id is the Secret or ConfigMap.
func (r Ref) id() manifest.ID {
	return manifest.ID{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// objects names it in findings about those who refer to it.
func (r Ref) objects() []diag.Object {
	return []diag.Object{{APIVersion: "v1", Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}}
}

// FileName is the reference's file below [Dir], and its key in the shared Secret: the
// operator's spelling, in which different references can collide.
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

// same reports whether two references are to the same thing.
func (r Ref) same(other Ref) bool {
	r.Optional = other.Optional
	return r == other
}

// use is the first reference that claimed a file name.
type use struct {
	ref    Ref
	object *manifest.Object
	path   string
	data   []byte
	env    Group // the pods that want it as an environment variable
	file   Group // the pods that want it as a file
}

// Resolver resolves the references of one hierarchy and remembers what its pods need.
// It is not safe for concurrent use.
type Resolver struct {
	set       *manifest.Set
	policy    Policy
	namespace string // of the GrafanaAgent
	group     Group
	uses      map[string]*use
	listed    []*listed
	looked    map[manifest.ID]*manifest.Object
	diags     diag.List
	reported  map[string]bool // see [Scope.tell]
	left      map[manifest.ID]bool
}

// New returns a Resolver for a GrafanaAgent in the namespace.
func New(set *manifest.Set, policy Policy, namespace string) *Resolver {
	return &Resolver{set: set, policy: policy, namespace: namespace, group: All,
		uses: map[string]*use{}, looked: map[manifest.ID]*manifest.Object{}, reported: map[string]bool{}}
}

// LeaveOut names Secrets and ConfigMaps that are left out for an error of their own, as if they
// were not there.
func (r *Resolver) LeaveOut(left map[manifest.ID]bool) { r.left = left }

// Diags are the problems found so far, each about the object that holds the reference.
func (r *Resolver) Diags() diag.List { return r.diags }

// Look finds an object in the set, and notes that it was looked for.
func (r *Resolver) Look(id manifest.ID) *manifest.Object {
	o := r.set.Get(id)
	r.looked[id] = o
	if r.left[id] {
		return nil
	}
	return o
}

// Dependencies returns what was looked up; nil for what the set does not have.
func (r *Resolver) Dependencies() map[manifest.ID]*manifest.Object { return r.looked }

// Scope resolves references that stand in one object; they are to its namespace.
type Scope struct {
	*Resolver
	object *manifest.Object
}

// In returns the Scope of an object. Under Plaintext all references of the object are
// copied, also those that are never rendered: that is what the operator does. It blocks
// on a key that is missing, but an object that is missing matters to it only where it is
// rendered: the Secret of a container's environment need not be in Git.
func (r *Resolver) In(o *manifest.Object) Scope {
	s := Scope{Resolver: r, object: o}
	if r.policy == Plaintext {
		for _, f := range References(o) {
			if s.Look(f.Ref.id()) != nil {
				s.claim(f.Path, f.Ref)
			}
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

// Value resolves a reference for a field that has a value and a file form.
func (s Scope) Value(path string, sel *corev1.SecretKeySelector) model.Secret {
	ref := s.ref("Secret", sel.Name, sel.Key, sel.Optional)
	if s.policy == Reference {
		return model.Secret{File: s.file(path, ref)}
	}
	return s.inline(path, ref)
}

// File resolves a reference for a field that takes a path; empty when there is none.
func (s Scope) File(path string, sel monitoringv1.SecretOrConfigMap) string {
	ref, ok := s.secretOrConfigMap(sel)
	if !ok {
		return ""
	}
	return s.file(path, ref)
}

// ValueOnly resolves a reference for a field that has no file form.
func (s Scope) ValueOnly(path string, sel monitoringv1.SecretOrConfigMap) model.Secret {
	ref, ok := s.secretOrConfigMap(sel)
	if !ok {
		return model.Secret{}
	}
	if s.policy == Plaintext {
		return s.inline(path, ref)
	}
	u := s.claim(path, ref)
	if u == nil {
		return model.Secret{}
	}
	u.env |= s.group
	d := s.object.Diag(diag.Warning, diag.SecretAsEnv, path, "%s becomes an environment variable: the agent has no file field for it", ref)
	d.Hint = "it must exist before the pods start; rotating it needs a restart"
	s.diags = append(s.diags, d)
	return model.Secret{Env: envName(ref)}
}

// Content returns configuration that is kept in a Secret, and the Secret. Under every
// policy it must be in the inputs. Nil when it is not there, which has been reported; one
// that is left out for an error of its own leaves those who refer to it alone.
func (s Scope) Content(path string, sel *corev1.SecretKeySelector) ([]byte, *manifest.Object) {
	ref := s.ref("Secret", sel.Name, sel.Key, sel.Optional)
	if s.set.IsLeftOut(ref.id()) || s.left[ref.id()] {
		s.Look(ref.id())
		return nil, nil
	}
	data, ok := s.lookup(path, ref, true)
	if !ok {
		return nil, nil
	}
	return data, s.looked[ref.id()]
}

// file claims a file and returns its path; empty when the reference does not resolve.
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
		s.tell(diag.Finding{Code: diag.SecretNotText, Path: path, Related: ref.objects(),
			Message: ref.String() + " is not UTF-8 text, and must be written into the configuration"}, "")
		return model.Secret{}
	}
	return model.Secret{Value: string(u.data), Set: true}
}

func envName(ref Ref) string { return "AGENTRY" + ref.FileName() }

// report adds an error that nothing but the scope's object is to blame for.
func (s Scope) report(code diag.Code, path, hint, format string, args ...any) {
	s.tell(diag.Finding{Code: code, Path: path, Hint: hint, Message: fmt.Sprintf(format, args...)}, "")
}

// tell adds an error about the scope's object, once for each key; an empty one stands for the
// place and the message.
func (s Scope) tell(f diag.Finding, key string) {
	f.Severity = diag.Error
	d := s.object.Found(f)
	key = s.object.ID.String() + "\n" + cmp.Or(key, d.Message)
	if !s.reported[key] {
		s.reported[key] = true
		s.diags = append(s.diags, d)
	}
}

// Object is the object that the scope belongs to.
func (s Scope) Object() *manifest.Object { return s.object }

// LiteralsAllowed reports whether the policy lets secrets that stand in a custom
// resource in clear into the output.
func (s Scope) LiteralsAllowed() bool { return s.policy == Plaintext }
