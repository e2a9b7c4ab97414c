package secretref

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// claim reserves the file name of a reference. It returns nil if the reference does not resolve or another reference
// has that file name, and reports both; it also returns nil if the reference is optional and absent.
func (s Scope) claim(path string, ref Ref) *use {
	name := ref.FileName()
	known := s.uses[name]
	if known != nil && known.ref.same(ref) {
		return known
	}
	if !s.validName(path, ref) || !s.validKey(path, ref) || !s.validFile(path, ref, name) || !s.reachable(path, ref) {
		return nil
	}
	data, ok := s.lookup(path, ref, s.policyOf(ref) == Plaintext)
	if !ok {
		return nil
	}
	if known != nil {
		s.collision(path, ref, known)
		return nil
	}
	u := &use{ref: ref, policy: s.policyOf(ref), object: s.object, path: path, data: data}
	s.uses[name] = u
	return u
}

// maxFileNameBytes is the maximum length of a key in a Secret. File systems hardly allow more.
const maxFileNameBytes = validation.DNS1123SubdomainMaxLength

// validName, validKey and validFile report a reference that the pod could not mount: Kubernetes would refuse
// the whole workload.
func (s Scope) validName(path string, ref Ref) bool {
	for _, problem := range validation.IsDNS1123Subdomain(ref.Name) {
		s.report(diag.MissingSecret, path, "", "%q is not the name of a %s: %s", ref.Name, ref.Kind,
			diag.NameRule(problem))
		return false
	}
	return true
}

func (s Scope) validKey(path string, ref Ref) bool {
	for _, problem := range validation.IsConfigMapKey(ref.Key) {
		s.report(diag.MissingKey, path, "", "%q is not a key of a %s: %s", ref.Key, ref.Kind, diag.NameRule(problem))
		return false
	}
	return true
}

func (s Scope) validFile(path string, ref Ref, file string) bool {
	if len(file) > maxFileNameBytes {
		s.report(diag.InvalidObject, path, "use shorter names",
			"%s becomes a file whose name has %d bytes, more than %d", ref, len(file), maxFileNameBytes)
		return false
	}
	return true
}

// reachable reports a reference to another namespace under Reference, unless its object is mirrored: a pod can only
// mount objects of its own namespace.
func (s Scope) reachable(path string, ref Ref) bool {
	if s.policyOf(ref) != Reference || ref.Namespace == s.agent.Namespace {
		return true
	}
	message := fmt.Sprintf("%s %s/%s cannot be mounted: a pod can only mount Secrets and ConfigMaps of its own "+
		"namespace, %s", ref.Kind, ref.Namespace, ref.Name, s.agent.Namespace)
	hint := s.mirrorHint(ref)
	if s.policies.Mirror.IsSet() {
		source := s.source(ref)
		problem, remedy := s.policies.Mirror.Refusal(s.agent, source)
		if problem == "" || ref.Optional && source.Object == nil && ref.Kind == "ConfigMap" {
			return true
		}
		message, hint = message+", and it cannot be mirrored: "+problem, remedy
	}
	s.addOnce(diag.SecretAcrossNS.At(path, "%s", message).WithHint(hint),
		"across\n"+ref.ID().String())
	return false
}

// mirrorHint returns the hint for a Secret or ConfigMap in another namespace.
func (s Scope) mirrorHint(ref Ref) string {
	hint := fmt.Sprintf(
		"set secrets.mirror in the pipeline (docs/secrets.md#secrets-of-other-namespaces), or move the %s and the %s "+
			"to %s",
		s.object.Kind, ref.Kind, s.agent.Namespace)
	switch s.object.Kind {
	case monitoringv1.ServiceMonitorsKind, monitoringv1.PodMonitorsKind:
		hint += ", and name " + ref.Namespace + " in spec.namespaceSelector.matchNames"
	}
	return hint
}

// needsNoValue returns an addition to a hint, or "": the policy reference needs no value of what pods can mount.
func (s Scope) needsNoValue(ref Ref) string {
	if ref.Namespace != s.agent.Namespace && !s.policies.Mirror.IsSet() {
		return ""
	}
	return "; the secrets policy reference needs no value"
}

// collision reports an error about both objects that use a file name, because either could be wrong. It reports each
// pair of Secrets or ConfigMaps once.
func (s Scope) collision(path string, ref Ref, known *use) {
	other := Scope{Resolver: s.Resolver, object: known.object}
	s.collides(path, ref, known.path, known.ref, other)
	if other.object != s.object {
		other.collides(known.path, known.ref, path, ref, s)
	}
}

func (s Scope) collides(path string, ref Ref, otherPath string, otherRef Ref, other Scope) {
	f := diag.Diagnostic{Code: diag.SecretKeyCollision, Path: path,
		Hint: "rename one of the two: their file names in the pod keep only letters, digits and _"}
	user := otherPath
	if other.object != s.object {
		user = other.object.SeenFrom(s.object, otherPath)
		f.Related = []diag.Object{other.object.Ref()}
	}
	f.Message = fmt.Sprintf("%s and %s (used by %s) would have the same file in the pod, %s", ref, otherRef, user,
		ref.FileName())
	s.addOnce(f, "collision\n"+other.object.ID.String()+"\n"+ref.ID().String()+"\n"+otherRef.ID().String())
}

// lookup returns the content of a reference. A missing Secret is an error only if it is required; otherwise its
// content is nil. A Secret that is present must have the key.
func (s Scope) lookup(path string, ref Ref, required bool) ([]byte, bool) {
	o, ok := s.find(path, ref, required)
	if o == nil {
		return nil, ok
	}
	data, ok := content(o, ref.Key)
	if required && isEncrypted(data) {
		s.addOnce(diag.EncryptedSecret.At(path,
			"%s is needed here, but it is encrypted with SOPS and was not decrypted", ref).
			WithHint("name a key for it in decryption of the pipeline"+s.needsNoValue(ref)).
			With(ref.objects()...), "")
		return nil, false
	}
	if required && bytes.HasPrefix(data, []byte("\x00GITCRYPT\x00")) { // a file from which a generator made a Secret
		s.addOnce(diag.EncryptedSecret.At(path,
			"%s is needed here, but it is encrypted with git-crypt, which agentry cannot decrypt",
			ref).WithHint("encrypt it with SOPS instead"+s.needsNoValue(ref)).With(ref.objects()...), "")
		return nil, false
	}
	if !ok && !required && slices.Contains(filledByCluster(o), ref.Key) {
		return nil, true
	}
	if !ok {
		s.missing(path, diag.MissingKey, ref, keyHint(o, ref.Key), "it has no such key")
		return nil, false
	}
	return data, true
}

// find returns the Secret or ConfigMap of a reference. It reports a required one that is missing, and returns false.
func (s Scope) find(path string, ref Ref, required bool) (*manifest.Object, bool) {
	o := s.Look(ref.ID())
	if named, found := s.set.Named()[ref.ID()]; o == nil && required && found && !ref.Optional {
		s.unread(path, ref, named)
		return nil, false
	}
	if o == nil && required {
		s.missing(path, diag.MissingSecret, ref, "correct the reference, or add what it refers to",
			"there is no such %s in the inputs", ref.Kind)
		return nil, false
	}
	return o, true
}

// unread reports that a value is needed of a Secret that was not decrypted, so that only its description is known.
func (s Scope) unread(path string, ref Ref, named manifest.Named) {
	f := diag.Diagnostic{Code: diag.EncryptedSecret, Path: path, Related: ref.objects(), Hint: s.needsNoValue(ref)}
	if named.By == "" {
		f.Hint = "name a key for it in decryption of the pipeline" + f.Hint
	}
	f.Hint = strings.TrimPrefix(f.Hint, "; ")
	if s.policyOf(ref) == Reference { // it is configuration
		f.Hint = "keep a Secret that is configuration in clear, or give it the secrets policy plaintext"
	}
	switch {
	case ref.Key != "" && named.Lacks(ref.Key):
		s.lacks(path, ref, named)
		return
	case named.Problem != "":
		f.Message = fmt.Sprintf("%s cannot be decrypted: %s",
			Ref{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}, named.Problem)
	default:
		f.Message = fmt.Sprintf("%s is needed here, but is not known: it is %s", ref, named.Description())
	}
	s.addOnce(f, ref.ID().String())
}

// lacks reports a key that is missing from a Secret of which only the description is known.
func (s Scope) lacks(path string, ref Ref, named manifest.Named) {
	f := Lacking(ref, named)
	f.Path, f.Related = path, ref.objects()
	s.addOnce(f, "")
}

// Lacking returns the diagnostic that a Secret of which only the description is known has no such key.
func Lacking(ref Ref, named manifest.Named) diag.Diagnostic {
	whole := ref
	whole.Key = ""
	return diag.MissingKey.At("", "%s is %s; key `%s` is not one of them", whole, named.Description(),
		ref.Key).WithHint(diag.DidYouMean(ref.Key, named.Keys))
}

// maxKeys limits the keys of a Secret or ConfigMap that a hint lists.
const maxKeys = 20

// keyHint returns the hint for a key that is missing from a Secret or ConfigMap.
func keyHint(o *manifest.Object, key string) string {
	keys := filledByCluster(o)
	if slices.Contains(keys, key) {
		return "Kubernetes writes this key in the cluster: give the Secret the policy reference, by a rule of " +
			"secrets.rules in the pipeline"
	}
	if o.Kind == "Secret" {
		keys = append(keys, slices.Sorted(maps.Keys(manifest.As[corev1.Secret](o).Data))...)
	} else {
		cm := manifest.As[corev1.ConfigMap](o)
		keys = slices.Sorted(maps.Keys(cm.Data))
		keys = append(keys, slices.Sorted(maps.Keys(cm.BinaryData))...)
	}
	switch hint := diag.DidYouMean(key, keys); {
	case hint != "":
		return hint
	case len(keys) == 0:
		return "it has no keys: add this one, or correct the reference"
	case len(keys) > maxKeys:
		return fmt.Sprintf("its keys: %s and %d more", strings.Join(keys[:maxKeys], ", "), len(keys)-maxKeys)
	}
	return "its keys: " + strings.Join(keys, ", ")
}

// isEncrypted reports whether a value is encrypted with SOPS: a single value, or a whole SOPS file from which a
// generator made a Secret.
func isEncrypted(value []byte) bool {
	const prefix, version = "ENC[AES256_GCM,data:", "sops"
	return bytes.HasPrefix(value, []byte(prefix)) ||
		bytes.Contains(value, []byte(prefix)) && bytes.Contains(value, []byte(version))
}

func content(o *manifest.Object, key string) ([]byte, bool) {
	if o.Kind == "Secret" {
		data, ok := manifest.As[corev1.Secret](o).Data[key]
		return data, ok
	}
	cm := manifest.As[corev1.ConfigMap](o)
	if text, ok := cm.Data[key]; ok {
		return []byte(text), true
	}
	data, ok := cm.BinaryData[key]
	return data, ok
}

// nameHash matches the suffix that kustomize's generators add to a name, which changes with the content.
var nameHash = lazyregexp.New(`^-[2456789bcdfghkmt]{10}$`)

// RenamedHint returns the hint for a reference to an object that kustomize renamed.
func RenamedHint(name string, now *manifest.Object) string {
	hint := fmt.Sprintf("kustomize renamed %s %s to %s: build both in one kustomization, or ", now.Kind, name, now.Name)
	last := now.EarlierNames[len(now.EarlierNames)-1]
	if end, found := strings.CutPrefix(now.Name, last); found && nameHash.MatchString(end) {
		return hint + "set disableNameSuffixHash in its generatorOptions, and name " + last + " here"
	}
	return hint + "name " + now.Name + " here"
}

// missing reports a reference that does not resolve: as an error, or as a warning if it is optional. It reports a
// missing Secret or ConfigMap only once for each object.
func (s Scope) missing(path string, code diag.Code, ref Ref, hint, format string, args ...any) {
	f := diag.Diagnostic{Severity: diag.Error, Code: code, Path: path, Related: ref.objects(), Hint: hint}
	f.Message = fmt.Sprintf("%s: "+format, append([]any{ref}, args...)...)
	once := ""
	switch {
	case ref.Optional:
		f.Severity, f.Code, f.Hint = diag.Warning, diag.OptionalMissing, ""
		f.Message = fmt.Sprintf("%s is not in the inputs: the setting is left out", ref)
		s.diags = append(s.diags, s.object.Place(f))
		return
	case s.set.IsLeftOut(ref.ID()), s.left[ref.ID()]:
		f.Code, f.Hint = diag.FollowsError, "correct the "+ref.Kind
		f.Message = fmt.Sprintf("%s is left out because of an error", ref)
		once = ref.ID().String()
	case code == diag.MissingSecret && s.set.MayLack(ref.Kind):
		f.Code, f.Hint = diag.FollowsError, "correct the document that cannot be read"
		f.Message = fmt.Sprintf("%s is not in the inputs: it may be in a document that cannot be read", ref)
		once = ref.ID().String()
	case code == diag.MissingSecret && s.set.Renamed(ref.ID()) != nil:
		once = ref.ID().String()
		f.Hint = RenamedHint(ref.Name, s.set.Renamed(ref.ID()))
	case code == diag.MissingSecret:
		once = ref.ID().String()
		if s.policyOf(ref) == Plaintext {
			f.Hint += s.needsNoValue(ref)
		}
	}
	s.addOnce(f, once)
}
