package argocd

import (
	"encoding/base64"
	"maps"
	"net/url"
	"strings"

	"github.com/agentry-dev/agentry/inputs/helm"
)

// The label of the Secrets with which Argo CD declares clusters, and its value.
const (
	secretType  = "argocd.argoproj.io/secret-type"
	clusterType = "cluster"
)

// Cluster is a cluster that Argo CD knows: the fields of its Secret without the credentials, which are never read.
type Cluster struct {
	Name, Server, Project string
	Labels, Annotations   map[string]string
	// Secret is NAMESPACE/NAME of its Secret, and File where that is.
	Secret, File string
}

// IsKnown reports whether the Secret says what every cluster has.
func (c Cluster) IsKnown() bool { return c.Name != "" && c.Server != "" }

// clusterKind is the kind of the object that represents a cluster's Secret without its credentials.
const clusterKind = "Cluster"

// IsCluster reports whether an object is a cluster's Secret, or represents one.
func IsCluster(object map[string]any) bool {
	metadata, _ := object["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	return (object["kind"] == "Secret" || object["kind"] == clusterKind) && labels[secretType] == clusterType
}

// Names returns the values of the Secret that are no secrets, by their keys. A URL with a password is none of them.
func (c Cluster) Names() map[string]string {
	out := map[string]string{"name": c.Name, "project": c.Project}
	if u, err := url.Parse(c.Server); err == nil && u.User == nil && u.RawQuery == "" {
		out["server"] = c.Server
	}
	return out
}

// ParseCluster reads the Secret of a cluster. If a value is encrypted, or not a string, the cluster is not known.
func ParseCluster(secret map[string]any) Cluster {
	var of struct {
		Metadata struct {
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if convert(secret, "", &of) != nil {
		return Cluster{}
	}
	out := Cluster{Labels: of.Metadata.Labels, Annotations: of.Metadata.Annotations}
	for key, into := range map[string]*string{"name": &out.Name, "server": &out.Server, "project": &out.Project} {
		var ok bool
		if *into, ok = value(secret, key); !ok {
			return Cluster{}
		}
	}
	return out
}

// encrypted is the prefix of values that SOPS encrypted.
const encrypted = "ENC["

// value returns a value of a Secret, or "" if it has none.
func value(secret map[string]any, key string) (text string, ok bool) {
	ok = true
	if clear, _ := secret["stringData"].(map[string]any); clear[key] != nil {
		text, ok = clear[key].(string)
	} else if data, _ := secret["data"].(map[string]any); data[key] != nil {
		encoded, _ := data[key].(string)
		plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
		text, ok = string(plain), err == nil
	}
	return text, ok && !strings.HasPrefix(text, encrypted)
}

// withoutCredentials returns a cluster's Secret reduced to the values that agentry reads.
func withoutCredentials(secret map[string]any) map[string]any {
	out := map[string]any{"apiVersion": APIVersion, "kind": clusterKind, "metadata": secret["metadata"]}
	kept := map[string]any{}
	for _, key := range []string{"name", "server", "project"} {
		if text, ok := value(secret, key); ok {
			kept[key] = text
		} else {
			kept[key] = encrypted
		}
	}
	out["stringData"] = kept
	return out
}

// params returns the parameters that the cluster generator has for the cluster.
func (c Cluster) params(goTemplate bool) map[string]any {
	out := map[string]any{"name": c.Name, "nameNormalized": helm.Normalize(c.Name), "server": c.Server,
		"project": c.Project}
	metadata := map[string]any{}
	for name, of := range map[string]map[string]string{"labels": c.Labels, "annotations": c.Annotations} {
		if len(of) > 0 {
			metadata[name] = helm.Strings(maps.Clone(of))
		}
		for key, value := range of {
			if !goTemplate {
				out["metadata."+name+"."+key] = value
			}
		}
	}
	if goTemplate {
		out["metadata"] = metadata
	}
	return out
}
