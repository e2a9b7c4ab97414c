package mirror

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/internal/expression"
)

// Settings say how Secrets are mirrored. The zero value mirrors nothing.
type Settings struct {
	// ExternalSecret renders ExternalSecrets, for the External Secrets Operator. Default: none.
	ExternalSecret *ExternalSecret `json:"externalSecret,omitempty"`
	// Reflector renders empty Secrets that a mirroring controller in the cluster fills: `emberstack` is Reflector,
	// `mittwald` is kubernetes-replicator. Default: none.
	Reflector Reflector `json:"reflector,omitempty"`
}

// ExternalSecret says where the External Secrets Operator finds the values. At least one of Copy, Store and Kubernetes
// is set, but not both Store and Kubernetes.
type ExternalSecret struct {
	// Copy copies the ExternalSecret that the inputs have for the Secret, if it reads a ClusterSecretStore. The copy
	// reads the same values, in the namespace of the GrafanaAgent. Store or Kubernetes serves the other Secrets.
	Copy bool `json:"copy,omitempty"`
	// Store is a store with the values.
	Store *Store `json:"store,omitempty"`
	// Kubernetes reads the Secrets in the other namespaces directly, through the Kubernetes provider of the External
	// Secrets Operator and a ServiceAccount that may get exactly these Secrets.
	Kubernetes bool `json:"kubernetes,omitempty"`
	// RefreshInterval is how often the values are read. Default: 1h.
	RefreshInterval string `json:"refreshInterval,omitempty"`
}

// Store is a SecretStore in the namespace of the GrafanaAgent, or a ClusterSecretStore.
type Store struct {
	// Kind is `ClusterSecretStore` or `SecretStore`. Default: ClusterSecretStore.
	// +kubebuilder:validation:Enum=ClusterSecretStore;SecretStore
	Kind string `json:"kind,omitempty"`
	// Name is the name of the store.
	Name string `json:"name"`
	// Path is the place of a Secret in the store, where `{namespace}` and `{name}` stand for the namespace and name of
	// the Secret. The keys of the Secret are the properties there.
	Path string `json:"path"`
}

// Reflector is a mirroring controller.
//
// +kubebuilder:validation:Enum=emberstack;mittwald
type Reflector string

// The mirroring controllers.
const (
	Emberstack Reflector = "emberstack"
	Mittwald   Reflector = "mittwald"
)

// IsSet reports whether anything is mirrored.
func (s *Settings) IsSet() bool { return s != nil && (s.ExternalSecret != nil || s.Reflector != "") }

const configMapKind = "ConfigMap"

// Source is a Secret or ConfigMap in another namespace.
type Source struct {
	manifest.ID
	// Object is the object in the inputs, or nil.
	Object *manifest.Object
	// Named is the description of an encrypted Secret, or the zero value.
	Named manifest.Named
}

// annotations returns the annotations of a source, or false if it is not in the inputs.
func (s Source) annotations() (map[string]string, bool) {
	switch {
	case s.Object != nil:
		return s.Object.Annotations, true
	case s.Named.Encrypted != nil:
		return s.Named.Encrypted.Object.Annotations, true
	}
	return nil, false
}

// Name returns the name of the copy of a Secret or ConfigMap in the namespace of a GrafanaAgent. Names are unique,
// because the name of a namespace has no dot.
func Name(agent string, source manifest.ID) string {
	return agent + "." + source.Namespace + "." + source.Name
}

// Refusal returns the reason why a source cannot be mirrored into the namespace of a GrafanaAgent, and a hint. Both
// are empty if it can be.
func (s *Settings) Refusal(agent manifest.ID, source Source) (message, hint string) {
	if name := Name(agent.Name, source.ID); len(name) > validation.DNS1123SubdomainMaxLength {
		return fmt.Sprintf("its copy would have the name %s, of %d characters, more than %d", name, len(name),
			validation.DNS1123SubdomainMaxLength), "use shorter names"
	}
	switch {
	case source.Kind == configMapKind && source.Object == nil:
		return "it is not in the inputs", "add it to the inputs"
	case source.Kind == configMapKind:
		return "", ""
	case s.Reflector != "":
		return s.Reflector.refusal(agent.Namespace, source)
	case s.ExternalSecret.Store != nil || s.ExternalSecret.Kubernetes:
		return "", ""
	}
	if problem := uncopyable(source.Named); problem != "" {
		return problem, "create it with an ExternalSecret that reads a ClusterSecretStore, or set store or " +
			"kubernetes in secrets.mirror.externalSecret of the pipeline"
	}
	return "", ""
}

// permission has the annotations with which the owner of a Secret allows a controller to mirror it.
type permission struct {
	allowed, namespaces string
	// mustList means that without a list of namespaces, none is allowed.
	mustList bool
	// source is the annotation of the mirror that names the original Secret.
	source string
}

// The documentation of both controllers names these annotations.
var permissions = map[Reflector]permission{
	Emberstack: {
		allowed:    "reflector.v1.k8s.emberstack.com/reflection-allowed",
		namespaces: "reflector.v1.k8s.emberstack.com/reflection-allowed-namespaces",
		source:     "reflector.v1.k8s.emberstack.com/reflects",
	},
	Mittwald: {
		allowed:    "replicator.v1.mittwald.de/replication-allowed",
		namespaces: "replicator.v1.mittwald.de/replication-allowed-namespaces", mustList: true,
		source: "replicator.v1.mittwald.de/replicate-from",
	},
}

// refusal returns the message and hint for a Secret in the inputs that lacks an annotation.
func (r Reflector) refusal(namespace string, source Source) (message, hint string) {
	annotations, known := source.annotations()
	p := permissions[r]
	if !known || p.allows(annotations, namespace) {
		return "", ""
	}
	return "its annotations do not let " + string(r) + " copy it to this namespace",
		fmt.Sprintf(`give it the annotations %s: "true" and %s: %s`, p.allowed, p.namespaces, namespace)
}

func (p permission) allows(annotations map[string]string, namespace string) bool {
	if annotations[p.allowed] != "true" {
		return false
	}
	list := annotations[p.namespaces]
	if list == "" {
		return !p.mustList
	}
	return slices.ContainsFunc(strings.Split(list, ","), func(pattern string) bool {
		pattern = strings.TrimSpace(pattern)
		whole, err := expression.Compile("^(?:" + pattern + ")$")
		return pattern == namespace || err == nil && whole.MatchString(namespace)
	})
}
