package argocd

import (
	"bytes"
	"context"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/kustomize"
)

// kustomization builds a kustomization with the Application's changes.
func (b *build) kustomization(ctx context.Context, s *Source, folder string) ([]manifest.Built, error) {
	field := s.Field + ".kustomize"
	charts := b.opts.Charts
	request := kustomize.Request{Folder: folder, PassThrough: b.opts.PassThrough, Tenants: b.opts.Tenants,
		Secrets: b.opts.Secrets, Find: func(name string) (string, int, int) {
			if name == "" {
				return b.root.RequestedBy.Find("")
			}
			if rest, ok := strings.CutPrefix(name, "labels"); ok {
				name = "commonLabels" + strings.TrimPrefix(rest, "[0].pairs")
			}
			return b.root.RequestedBy.Find(field + "." + name)
		}}
	if of := s.Kustomize; of != nil {
		change, err := of.change(field, newEnv(b.app, s))
		if err != nil {
			return nil, err
		}
		request.Change = change
		if charts != nil && (of.KubeVersion != "" || len(of.APIVersions) > 0) {
			own := *charts
			if of.KubeVersion != "" {
				own.Cluster.Version = of.KubeVersion
			}
			if len(of.APIVersions) > 0 {
				own.Cluster.APIVersions = of.APIVersions
			}
			charts = &own
		}
	}
	return kustomize.Build(ctx, b.files, request,
		kustomize.Options{Kustomize: b.opts.Kustomize, Open: b.opts.Open, Charts: charts,
			Repositories: b.opts.Repositories, Warn: b.opts.Warn})
}

// change returns the changes to the kustomization.
func (s *KustomizeSource) change(field string, env env) (kustomize.Change, error) {
	out := kustomize.Change{IgnoreMissing: s.IgnoreMissingComponents}
	out.NamePrefix, out.NameSuffix, out.Namespace = s.NamePrefix, s.NameSuffix, s.Namespace
	out.Patches, out.Components = s.Patches, s.Components
	for i, text := range s.Images {
		text, err := env.expand(field+".images"+index(i), text)
		if err != nil {
			return out, err
		}
		out.Images = append(out.Images, imageOf(text))
	}
	for i, r := range s.Replicas {
		count, err := strconv.ParseInt(string(bytes.Trim(r.Count, `"`)), 10, 64)
		if err != nil {
			return out, problem(field+".replicas"+index(i)+".count", "", "is not a number")
		}
		out.Replicas = append(out.Replicas, types.Replica{Name: r.Name, Count: count})
	}
	labels, err := env.expandAll(field+".commonLabels", s.CommonLabels, true)
	if err != nil {
		return out, err
	}
	if s.LabelWithoutSelector && len(labels) > 0 {
		out.Labels = []types.Label{{Pairs: labels, IncludeTemplates: s.LabelIncludeTemplates}}
	} else {
		out.CommonLabels = labels //lint:ignore SA1019 Argo CD sets it
	}
	out.CommonAnnotations, err = env.expandAll(field+".commonAnnotations", s.CommonAnnotations,
		s.CommonAnnotationsEnvsubst)
	return out, err
}

// expandAll returns texts, with their variables replaced if replace is true.
func (e env) expandAll(field string, texts map[string]string, replace bool) (map[string]string, error) {
	if !replace || len(texts) == 0 {
		return texts, nil
	}
	out := map[string]string{}
	for key, text := range texts {
		text, err := e.expand(field+"."+key, text)
		if err != nil {
			return nil, err
		}
		out[key] = text
	}
	return out, nil
}

// imageOf parses NAME[=NEWNAME][:TAG][@DIGEST].
func imageOf(text string) types.Image {
	out := types.Image{}
	text, out.Digest, _ = strings.Cut(text, "@")
	name, to, isRenamed := strings.Cut(text, "=")
	if !isRenamed {
		to = name
	}
	if i := strings.LastIndex(to, ":"); i > strings.LastIndex(to, "/") {
		to, out.NewTag = to[:i], to[i+1:]
	}
	out.Name = name
	if isRenamed {
		out.NewName = to
	} else {
		out.Name = to
	}
	return out
}
