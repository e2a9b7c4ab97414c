package gitsync

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentry-dev/agentry/internal/webhook/kind"
)

// webhook checks how a repository's host tells of pushes.
func (v *validator) webhook(path, repository string, w *Webhook) {
	if w == nil {
		return
	}
	oneOf(v, path+".type", w.Type, kind.Names())
	v.exactlyOne(path, "a webhook", credential{"secret", w.SecretFile, w.SecretEnv})
	v.check(scheme(repository) != "file", path, "", "a repository on this machine has no webhooks")
}

// forge checks the API of a repository's host, which takes the repository's own credential
// if it has none.
func (v *validator) forge(path string, f *Forge, repository Auth) {
	oneOf(v, path+".type", f.Type, []ForgeType{ForgeGitHub, ForgeGitLab, ForgeGitea})
	if f.URL == "" {
		v.check(false, path+".url", "write it like https://gitlab.example.com", "is required, since the repository's URL names no host")
	} else {
		v.webURL(path+".url", f.URL, "https", "http")
	}
	v.onePlace(path, []credential{{"token", f.TokenFile, f.TokenEnv}})
	v.trust(path, f.URL, credential{"ca", f.CAFile, f.CAEnv})
	own := f.TokenFile+f.TokenEnv != ""
	v.check(own || repository.HasToken(), path, "set tokenFile or tokenEnv", "needs an access token, and the repository's auth holds none")
	v.check(own || repository.GitHubApp == nil || f.Type == ForgeGitHub, path+".type", "set tokenFile or tokenEnv", "the tokens of a GitHub App are for github only")
}

func (v *validator) previews(path string, s Source) {
	p := s.Previews
	if p == nil {
		return
	}
	v.check(s.Forge != nil, path, "set forge beside it", "needs the forge, whose pull requests it is about")
	v.check(s.Ref.branch() != "", path, "follow a branch by ref.branch", "needs a branch, as pull requests are for one")
	v.check(*p.Comment || *p.Status, path, "leave it out", "neither writes a comment nor sets a status")
	v.check(p.Interval.Duration >= MinPreviewInterval, path+".interval", "webhooks make it immediate", "must be at least %s", MinPreviewInterval)
}

// rollout checks what can be seen without the rest of the fleet.
func (v *validator) rollout(path, pipeline string, r Rollout) {
	seen := map[string]bool{}
	for i, name := range r.After {
		at := fmt.Sprintf("%s.after[%d]", path, i)
		v.all(at, validation.IsDNS1123Subdomain(name))
		v.check(name != pipeline, at, "", "is this pipeline itself")
		v.check(!seen[name], at, "", "is named twice")
		seen[name] = true
	}
	v.check(r.MaxPerMinute >= 0, path+".maxPerMinute", "leave it out for no limit", "must not be negative")
}

func (v *validator) notify(path string, n Notify) {
	v.webURL(path+".url", n.URL, "https", "http")
	v.onePlace(path, []credential{{"secret", n.SecretFile, n.SecretEnv}})
	v.trust(path, n.URL, credential{"ca", n.CAFile, n.CAEnv})
	oneOf(v, path+".severity", n.Severity, []string{SeverityInfo, SeverityError})
	if o := n.Object; o != nil {
		oneOf(v, path+".object.kind", o.Kind, []string{"GitRepository", "Kustomization", "OCIRepository"})
		v.all(path+".object.name", validation.IsDNS1123Subdomain(o.Name))
		v.all(path+".object.namespace", validation.IsDNS1123Label(o.Namespace))
	}
}

func (v *validator) receiver(path string, r Receiver) {
	v.webURL(path+".url", r.URL, "https", "http")
	v.check(!strings.HasSuffix(r.URL, "/hook"), path+".url", "kubectl get receiver shows it as webhookPath", "lacks the path of the Receiver's status")
	v.exactlyOne(path, "a receiver", credential{"secret", r.SecretFile, r.SecretEnv})
	v.trust(path, r.URL, credential{"ca", r.CAFile, r.CAEnv})
	v.check(r.Timeout.Duration >= MinReceiverTimeout && r.Timeout.Duration <= MaxReceiverTimeout, path+".timeout", "", "must be from %s to %s", MinReceiverTimeout, MaxReceiverTimeout)
}
