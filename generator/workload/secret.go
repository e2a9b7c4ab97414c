package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes"
)

const (
	// maxSecretBytes is the maximum size of a Secret in Kubernetes, keys and values together.
	maxSecretBytes = 1 << 20
	// nearlyFullBytes is the size of a Secret above which there is a warning, because a few more monitors can block
	// the unit.
	nearlyFullBytes = maxSecretBytes / 5 * 4
	// clientSideBytes is the size above which Argo CD must use server-side apply: otherwise it writes the whole
	// object into an annotation, and Kubernetes limits annotations to 256 KiB.
	clientSideBytes = 200 << 10

	// maxConfigBytes limits a decompressed configuration. No larger one fits into a Secret.
	maxConfigBytes = 256 << 20
)

// sharedSecret returns the Secret with the content of all references, which all pods mount.
func (a grafanaAgent) sharedSecret() (Object, diag.List) {
	name, data := a.sharedSecretName(), a.secrets.Data()
	size := 0
	for key, value := range data {
		size += len(key) + len(value)
	}
	findings := fits(size, func() parts {
		return largestSources(a.secrets)
	}, fmt.Sprintf("Secret %s would hold %d bytes", name, size),
		"with the policy reference, pods mount each Secret directly; or let a second GrafanaAgent select some of the "+
			"instances. More shards do not help: all pods mount this Secret")
	return a.secret(name, managedLabels(), &Content{values: data}), findings
}

func (a grafanaAgent) sharedSecretName() string { return a.Name + "-secrets" }

func (a grafanaAgent) secretID(name string) manifest.ID {
	return manifest.ID{Kind: "Secret", Namespace: a.Namespace, Name: name}
}

// fits returns an error for a Secret that is too large for Kubernetes, and a warning for one that is nearly too large.
// Both name the largest parts.
func fits(size int, largest func() parts, what, hint string) diag.List {
	if size <= nearlyFullBytes {
		return nil
	}
	of := largest()
	message := func(than string) string {
		return fmt.Sprintf("%s, %s the %d that a Secret can hold; the largest parts are %s", what, than, maxSecretBytes,
			of)
	}
	if size > maxSecretBytes {
		return diag.List{{Severity: diag.Error, Code: diag.ObjectTooLarge, Message: message("more than"),
			Hint: hint, Related: of.objects()}}
	}
	share := fmt.Sprintf("%d%% of", size*100/maxSecretBytes)
	return diag.List{{Severity: diag.Warning, Code: diag.ObjectTooLarge, Message: message(share), Hint: hint,
		Related: of.objects()}}
}

// config is a configuration with its Secret, and the checksum of the secrets in its text. A configuration that does
// not fit into one Secret is a folder: other Secrets have the rest of its files.
type config struct {
	of              *model.Config
	secret, inlined string
	others          []string
}

// configSecret returns the Secret of a printed configuration: as text, which a reviewer can read, or compressed, with
// the redacted text beside it. It has no content if the text is too large and the program can read several files
// instead.
func (a grafanaAgent) configSecret(name string, c *model.Config, printed *runtimes.Printed, z *compression) (o Object,
	inlined string, findings diag.List) {
	r := a.runtime()
	masked := ""
	if a.mayInline(c) {
		if masked, inlined = r.Masked(c); inlined == "" {
			masked = ""
		}
	}
	if len(printed.Bytes) <= r.CompressAboveBytes {
		o = a.textSecret(name, c, r.ConfigKey, printed.Text)
		o.Masked = masked
		return o, inlined, nil
	}
	compressed := z.compressed(printed.Bytes)
	if printed.Split != nil && len(compressed)+len(r.ConfigKey) > maxSecretBytes {
		return Object{}, "", nil
	}
	content := &Content{key: r.ConfigKey, compressed: compressed, text: printed.Redacted()}
	o = a.secret(name, a.configLabels(), content)
	o.Config, o.Masked = c, masked
	if printed.Split != nil {
		return o, inlined, nil
	}
	findings = fits(len(compressed)+len(r.ConfigKey), func() parts { return largest(printed.Spans) },
		fmt.Sprintf("the configuration is %d bytes compressed", len(compressed)),
		"let a second GrafanaAgent select some of the instances. More shards do not help: all shards read the same "+
			"configuration")
	return o, inlined, findings
}

// textSecret returns the Secret of a configuration, or of a file of it, as text.
func (a grafanaAgent) textSecret(name string, c *model.Config, key string, text runtimes.Text) Object {
	o := a.secret(name, a.configLabels(), &Content{key: key, text: text})
	o.Config = c
	return o
}

func (a grafanaAgent) configLabels() map[string]string {
	return with(managedLabels(), a.options.Labels)
}

// secret returns a Secret.
func (a grafanaAgent) secret(name string, labels map[string]string, content *Content) Object {
	m := a.meta(name, labels)
	if content.size() > clientSideBytes {
		m.Annotations["argocd.argoproj.io/sync-options"] = "ServerSideApply=true"
	}
	value := &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: m}
	return Object{ID: a.secretID(name), Value: value, Content: content}
}

// mayInline reports whether a configuration can contain secrets; others need not be printed again to find out. Under
// the policy reference only the configurations of integrations can, because users write them freely.
func (a grafanaAgent) mayInline(c *model.Config) bool {
	return a.secrets.CanInline() || c.Integrations != nil
}
