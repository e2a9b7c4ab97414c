package scrape

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	promv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"
	prommodel "github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// discoverAll adds how a ScrapeConfig finds its targets.
func discoverAll(j *job, s *promv1alpha1.ScrapeConfigSpec) {
	discover(j, "staticConfigs", "static", s.StaticConfigs, staticSD)
	discover(j, "fileSDConfigs", "file", s.FileSDConfigs, fileSD)
	discover(j, "httpSDConfigs", "http", s.HTTPSDConfigs, httpSD)
	discover(j, "kubernetesSDConfigs", "kubernetes", s.KubernetesSDConfigs, kubernetesSD)
	discover(j, "consulSDConfigs", "consul", s.ConsulSDConfigs, consulSD)
	discover(j, "dnsSDConfigs", "dns", s.DNSSDConfigs, dnsSD)
	discover(j, "ec2SDConfigs", "ec2", s.EC2SDConfigs, ec2SD)
	discover(j, "azureSDConfigs", "azure", s.AzureSDConfigs, azureSD)
	discover(j, "gceSDConfigs", "gce", s.GCESDConfigs, gceSD)
	discover(j, "openstackSDConfigs", "openstack", s.OpenStackSDConfigs, openstackSD)
	discover(j, "digitalOceanSDConfigs", "digitalocean", s.DigitalOceanSDConfigs, digitaloceanSD)
	discover(j, "kumaSDConfigs", "kuma", s.KumaSDConfigs, kumaSD)
	discover(j, "eurekaSDConfigs", "eureka", s.EurekaSDConfigs, eurekaSD)
	discover(j, "dockerSDConfigs", "docker", s.DockerSDConfigs, dockerSD)
	discover(j, "linodeSDConfigs", "linode", s.LinodeSDConfigs, linodeSD)
	discover(j, "hetznerSDConfigs", "hetzner", s.HetznerSDConfigs, hetznerSD)
	discover(j, "nomadSDConfigs", "nomad", s.NomadSDConfigs, nomadSD)
	discover(j, "dockerSwarmSDConfigs", "dockerswarm", s.DockerSwarmSDConfigs, dockerswarmSD)
	discover(j, "puppetDBSDConfigs", "puppetdb", s.PuppetDBSDConfigs, puppetdbSD)
	discover(j, "lightSailSDConfigs", "lightsail", s.LightSailSDConfigs, lightsailSD)
	discover(j, "ovhcloudSDConfigs", "ovhcloud", s.OVHCloudSDConfigs, ovhcloudSD)
	discover(j, "scalewaySDConfigs", "scaleway", s.ScalewaySDConfigs, scalewaySD)
	discover(j, "ionosSDConfigs", "ionos", s.IonosSDConfigs, ionosSD)
}

// discover adds the entries of one list of service discoveries.
func discover[T any](j *job, field, mechanism string, list []T, build func(*discovering, *T)) {
	for i := range list {
		d := discovering{access: access{secrets: j.secrets, path: "spec." + field + "[" + strconv.Itoa(i) + "].",
			found: &j.found, current: true}}
		d.out.Mechanism, d.out.Path = mechanism, strings.TrimSuffix(d.path, ".")
		build(&d, &list[i])
		j.config.Discoveries = append(j.config.Discoveries, d.out)
	}
}

// discovering builds one entry of a list of service discoveries. Its methods write settings by Prometheus's names;
// field is the name in the ScrapeConfig.
type discovering struct {
	access
	out model.Discovery
}

func (d *discovering) wrong(field, format string, args ...any) {
	d.found.Add(diag.InvalidSetting.At(d.path+field, format, args...))
}

// text writes a text that must be there.
func (d *discovering) text(name, field, value string) {
	if strings.TrimSpace(value) == "" {
		d.wrong(field, "is missing: the agent refuses the whole configuration without it")
	}
	d.out.Settings.Set(name, model.String(value))
}

// role writes one of a few words, in lower case as Prometheus spells it.
func (d *discovering) role(name, field, value string) { d.text(name, field, strings.ToLower(value)) }

// whenSet writes a text that is there, even if it is empty.
func whenSet[S ~string](d *discovering, name string, value *S) {
	if value != nil {
		d.out.Settings.Set(name, model.String(*value))
	}
}

// nonEmpty writes a text for which empty is the default.
func (d *discovering) nonEmpty(name string, value *string) {
	if value != nil && *value != "" {
		d.out.Settings.Set(name, model.String(*value))
	}
}

// url writes the URL of a server. It needs a scheme and a host.
func (d *discovering) url(name, field, value string) {
	if u := d.found.parseURL(d.path+field, value); u != nil && (u.Scheme == "" || u.Host == "") {
		d.found.Add(diag.InvalidURL.At(d.path+field,
			"must be a URL with a scheme and a host, like http://server:8080"))
	}
	d.literalURL(d.path+field, value, AuthHint)
	d.out.Settings.Set(name, model.String(value))
}

// httpURL writes the URL of an HTTP server.
func (d *discovering) httpURL(value string) {
	d.found.checkHTTPURL(d.path+"url", value)
	d.literalURL(d.path+"url", value, AuthHint)
	d.out.Settings.Set("url", model.String(value))
}

func (d *discovering) flag(name string, value *bool) {
	if value != nil {
		d.out.Settings.Set(name, model.Bool(*value))
	}
}

func (d *discovering) port(value *int32) {
	if value != nil {
		d.out.Settings.Set("port", model.Number(strconv.Itoa(int(*value))))
	}
}

// refresh writes how often targets are asked for. The agent panics for zero.
func (d *discovering) refresh(interval *monitoringv1.Duration) {
	d.duration("refresh_interval", "refreshInterval", interval)
}

func (d *discovering) duration(name, field string, value *monitoringv1.Duration) {
	if value == nil || *value == "" {
		return
	}
	if every, err := prommodel.ParseDuration(string(*value)); err != nil || every == 0 {
		d.found.Add(diag.InvalidDuration.At(d.path+field, "%q is not a duration above zero, like 30s or 1m30s",
			*value))
	}
	d.out.Settings.Set(name, model.String(*value))
}

// texts writes a list, unless it is empty.
func (d *discovering) texts(name string, list []string) {
	if len(list) > 0 {
		d.out.Settings.Set(name, listOf(list))
	}
}

func listOf[S ~string](texts []S) model.List {
	out := make(model.List, len(texts))
	for i, text := range texts {
		out[i] = model.String(text)
	}
	return out
}

func mapOf(m map[string]string) model.Map {
	out := make(model.Map, 0, len(m))
	for _, name := range sortedKeys(m) {
		out.Set(name, model.String(m[name]))
	}
	return out
}

// secret writes a credential for which the agent has no file field.
func (d *discovering) secret(name, field string, ref *corev1.SecretKeySelector) {
	if ref == nil {
		return
	}
	value := d.valueOnly(field, ref)
	if value.Set && value.Value == "" {
		d.incomplete(field, Referred(monitoringv1.SecretOrConfigMap{Secret: ref})...)
	}
	d.out.Settings.Set(name, value)
}

// keys writes the keys of AWS. Without both, the agent takes what it finds in its environment.
func (d *discovering) keys(id, secret *corev1.SecretKeySelector) {
	if (id == nil) != (secret == nil) {
		field := "accessKey"
		if id == nil {
			field = "secretKey"
		}
		d.found.Add(diag.IncompleteAuth.At(d.path+field,
			"is not rendered: accessKey and secretKey belong together, and without both the agent takes the "+
				"credentials of its environment").As(diag.Warning))
		return
	}
	if id != nil {
		d.out.Settings.Set("access_key", model.Identity{Secret: d.valueOnly("accessKey", id)})
		d.secret("secret_key", "secretKey", secret)
	}
}

func (d *discovering) filters(filters promv1alpha1.Filters) {
	if len(filters) == 0 {
		return
	}
	sorted := slices.SortedStableFunc(slices.Values(filters), func(a, b promv1alpha1.Filter) int {
		return cmp.Compare(a.Name, b.Name)
	})
	var list model.List
	for _, f := range sorted {
		list = append(list, model.Map{{Key: "name", Value: model.String(f.Name)},
			{Key: "values", Value: listOf(f.Values)}})
	}
	d.out.Settings.Set("filters", list)
}

// client sets the HTTP client.
func (d *discovering) client(basic *monitoringv1.BasicAuth, authorization *monitoringv1.SafeAuthorization,
	oauth2 *monitoringv1.OAuth2,
	tls *monitoringv1.SafeTLSConfig, proxy monitoringv1.ProxyConfig, followRedirects, enableHTTP2 *bool) {
	c := safeClient(basic, authorization, oauth2, tls)
	c.Proxy, c.FollowRedirects, c.EnableHTTP2 = proxy, followRedirects, enableHTTP2
	d.out.HTTPClient = d.access.client(&c)
}

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
				d.wrong("namespaces.ownNamespace",
					"is not for an apiServer: the agent does not know its own namespace there, and refuses the whole "+
						"configuration")
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
		d.wrong("apiServer", "is missing: the agent takes settings of the HTTP client only together with it, and "+
			"refuses the whole configuration")
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
			d.wrong(field+"role", "is %s; the role %s can be narrowed by %s", of, role,
				strings.Join(selected[role], ", "))
		}
		if slices.ContainsFunc(selectors[:i], func(other promv1alpha1.K8SSelectorConfig) bool {
			return strings.EqualFold(string(other.Role), of)
		}) {
			d.wrong(field+"role", "another selector has the role %s; join the two", of)
		}
		m := model.Map{{Key: "role", Value: model.String(of)}}
		if s.Label != nil {
			if _, err := labels.Parse(*s.Label); err != nil {
				d.found.Add(diag.InvalidSelector.At(d.path+field+"label", "%q is not a selector of labels: %v",
					*s.Label, err))
			}
			m.Set("label", model.String(*s.Label))
		}
		if s.Field != nil {
			if _, err := fields.ParseSelector(*s.Field); err != nil {
				d.found.Add(diag.InvalidSelector.At(d.path+field+"field", "%q is not a selector of fields: %v",
					*s.Field, err))
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
		d.found.Add(diag.NotRendered.At(d.path+"attachMetadata",
			"is not rendered: targets of the role %s have no node", role))
		return
	}
	d.out.Settings.Set("attach_metadata", model.Map{{Key: "node", Value: model.Bool(c.Node != nil && *c.Node)}})
}

// customClient reports whether an HTTP client is not the default one.
func customClient(c *model.HTTPClient) bool {
	is := func(b *bool, value bool) bool { return b != nil && *b == value }
	tls := c.TLS != nil && (c.TLS.CAFile.Set || c.TLS.CertFile.Set || c.TLS.Key.File != "" || c.TLS.ServerName.Set ||
		c.TLS.MinVersion+c.TLS.MaxVersion != "" || is(c.TLS.InsecureSkipVerify, true))
	return is(c.FollowRedirects, false) || is(c.EnableHTTP2, false) || tls || c.ProxyURL.Set || is(c.FromEnv, true) ||
		c.BasicAuth != nil || c.Authorization != nil || c.OAuth2 != nil
}
