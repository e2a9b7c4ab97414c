package scrape

import (
	"slices"
	"strconv"
	"strings"

	promv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

func kubernetesSD(d *discovering, c *promv1alpha1.KubernetesSDConfig) {
	role := strings.ToLower(string(c.Role))
	if c.APIServer != nil {
		d.found.checkURL(d.path+"apiServer", *c.APIServer)
		d.literalURL(d.path+"apiServer", *c.APIServer, AuthHint)
		d.out.Settings.Set("api_server", model.String(*c.APIServer))
	}
	d.role("role", "role", role)
	if n := c.Namespaces; n != nil {
		namespaces := model.Map{{Key: "names", Value: listOf(n.Names)}}
		if own := n.IncludeOwnNamespace; own != nil {
			namespaces.Set("own_namespace", model.Bool(*own))
			if *own && c.APIServer != nil {
				d.wrong("namespaces.ownNamespace", "is not for an apiServer: the agent does not know its own namespace there, and refuses the whole configuration")
			}
		}
		d.out.Settings.Set("namespaces", namespaces)
	}
	d.selectors(role, c.Selectors)
	if c.AttachMetadata != nil {
		d.attach(role, c.AttachMetadata)
	}
	d.client(c.BasicAuth, c.Authorization, c.OAuth2, c.TLSConfig, c.ProxyConfig, c.FollowRedirects, c.EnableHTTP2)
	if c.APIServer == nil && customClient(&d.out.HTTPClient) {
		d.wrong("apiServer", "is missing: the agent takes settings of the HTTP client only together with it, and refuses the whole configuration")
	}
}

// selected are the roles whose objects a role can be narrowed by.
var selected = map[string][]string{
	"pod": {"pod"}, "service": {"service"}, "node": {"node"}, "ingress": {"ingress"},
	"endpoints": {"pod", "service", "endpoints"}, "endpointslice": {"pod", "service", "endpointslice"},
}

func (d *discovering) selectors(role string, selectors []promv1alpha1.K8SSelectorConfig) {
	var list model.List
	for i, s := range selectors {
		field := "selectors[" + strconv.Itoa(i) + "]."
		of := strings.ToLower(string(s.Role))
		if !slices.Contains(selected[role], of) {
			d.wrong(field+"role", "is %s; the role %s can be narrowed by %s", of, role, strings.Join(selected[role], ", "))
		}
		if slices.ContainsFunc(selectors[:i], func(other promv1alpha1.K8SSelectorConfig) bool { return strings.EqualFold(string(other.Role), of) }) {
			d.wrong(field+"role", "another selector has the role %s; join the two", of)
		}
		m := model.Map{{Key: "role", Value: model.String(of)}}
		if s.Label != nil {
			if _, err := labels.Parse(*s.Label); err != nil {
				d.found.report(diag.Error, diag.InvalidSelector, d.path+field+"label", "%q is not a selector of labels: %v", *s.Label, err)
			}
			m.Set("label", model.String(*s.Label))
		}
		if s.Field != nil {
			if _, err := fields.ParseSelector(*s.Field); err != nil {
				d.found.report(diag.Error, diag.InvalidSelector, d.path+field+"field", "%q is not a selector of fields: %v", *s.Field, err)
			}
			m.Set("field", model.String(*s.Field))
		}
		list = append(list, m)
	}
	if len(list) > 0 {
		d.out.Settings.Set("selectors", list)
	}
}

// attach writes what is attached to targets. Only the pods of a target can be on a node.
func (d *discovering) attach(role string, c *promv1alpha1.AttachMetadata) {
	if role != "pod" && role != "endpoints" && role != "endpointslice" {
		d.found.report(diag.Warning, diag.NotRendered, d.path+"attachMetadata", "is not rendered: targets of the role %s have no node", role)
		return
	}
	d.out.Settings.Set("attach_metadata", model.Map{{Key: "node", Value: model.Bool(c.Node != nil && *c.Node)}})
}

// customClient reports whether an HTTP client is not the default one.
func customClient(c *model.HTTPClient) bool {
	is := func(b *bool, value bool) bool { return b != nil && *b == value }
	tls := c.TLS != nil && (c.TLS.CAFile+c.TLS.CertFile+c.TLS.KeyFile+c.TLS.ServerName+c.TLS.MinVersion+c.TLS.MaxVersion != "" || is(c.TLS.InsecureSkipVerify, true))
	return is(c.FollowRedirects, false) || is(c.EnableHTTP2, false) || tls || c.ProxyURL != "" || is(c.FromEnv, true) ||
		c.BasicAuth != nil || c.Authorization != nil || c.OAuth2 != nil
}
