package handwritten

import (
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// kubernetes checks kubernetes_sd_configs.
func kubernetes(o object) {
	file := o.given("kubeconfig_file")
	namespaces, _ := o.sub("namespaces")
	own := namespaces.node != nil && namespaces.is("own_namespace", true)
	switch {
	case o.has("api_server") && file:
		o.wrong(o.get("kubeconfig_file"), "remove one of them", "%s and api_server exclude each other",
			o.name("kubeconfig_file"))
	case file && o.hasClient():
		o.wrong(o.get("kubeconfig_file"), "", "%s: no settings of the HTTP client can stand beside it",
			o.name("kubeconfig_file"))
	case !o.has("api_server") && o.hasClient():
		o.wrong(o.node, "write api_server, or remove the settings",
			"%s: settings of the HTTP client need api_server as well", o.path)
	}
	if own && (o.has("api_server") || file) {
		o.wrong(namespaces.get("own_namespace"), "", "%s goes neither with api_server nor with kubeconfig_file",
			namespaces.name("own_namespace"))
	}
	o.selectors()
}

// hasClient reports whether any setting of the HTTP client differs from the default.
func (o object) hasClient() bool {
	for _, f := range [...]string{"basic_auth", "authorization", "oauth2", "proxy_url", "proxy_connect_header"} {
		if o.has(f) {
			return true
		}
	}
	if tls, ok := o.sub("tls_config"); ok {
		for i := 0; i+1 < len(tls.node.Content); i += 2 {
			if v := tls.node.Content[i+1]; v.Value != "" && resolve(v) != false {
				return true
			}
		}
	}
	return o.given("bearer_token") || o.given("bearer_token_file") || o.given("no_proxy") ||
		o.is("proxy_from_environment", true) || o.is("follow_redirects", false) || o.is("enable_http2", false)
}

// selectors checks that the role has selectors of these kinds.
func (o object) selectors() {
	role, known := o.text("role", "")
	if !known || !slices.Contains(roles(), role) {
		return
	}
	allowed := []string{role}
	if role == "endpoints" || role == "endpointslice" {
		allowed = []string{"pod", "service", role}
	}
	seen := map[string]bool{}
	for _, n := range o.items("selectors") {
		s := object{o.checker, nil, n, o.name("selectors")}
		kind, known := s.text("role", "")
		switch {
		case !known:
		case !slices.Contains(allowed, kind):
			o.wrong(s.at("role"), "", "%s: with role %s only %s can be selected", s.name("role"), role,
				alternatives(allowed))
		case seen[kind]:
			o.wrong(s.at("role"), "", "%s: appears twice", s.name("role"))
		}
		seen[kind] = true
	}
}

func selector(o object) {
	if text, known := o.text("field", ""); known {
		if _, err := fields.ParseSelector(text); err != nil {
			o.wrong(o.get("field"), "", "%s: is not a field selector, like status.phase=Running", o.name("field"))
		}
	}
	if text, known := o.text("label", ""); known {
		if _, err := labels.Parse(text); err != nil {
			o.wrong(o.get("label"), "", "%s: is not a label selector, like app=api", o.name("label"))
		}
	}
}

// region warns that the agent asks the cloud for the region while it loads its configuration.
func region(o object) {
	if !o.given("region") {
		o.warn(o.node, "write the region",
			"%s is missing: the agent asks the metadata service of the node, and refuses its whole configuration if "+
				"that does not answer", o.name("region"))
	}
}

func azure(o object) {
	if method, known := o.text("authentication_method", "OAuth"); known && method == "OAuth" {
		o.require([]string{"tenant_id", "client_id", "client_secret"})
	}
}

func consul(o object) {
	notBlank("server")(o)
	user := o.given("username") || o.given("password")
	if user && o.has("basic_auth") {
		o.wrong(o.get("basic_auth"), "remove one of them", "%s and username and password exclude each other",
			o.name("basic_auth"))
	} else if user {
		o.credentials(true)
	}
	for _, f := range [...]string{"authorization", "oauth2"} {
		if o.given("token") && o.has(f) {
			o.wrong(o.get("token"), "remove one of them", "%s and %s exclude each other", o.name("token"), f)
		}
	}
}

func marathon(o object) {
	o.exclusive("auth_token", "auth_token_file")
	if !o.given("auth_token") && !o.given("auth_token_file") {
		return
	}
	for _, f := range [...]string{"basic_auth", "authorization", "bearer_token", "bearer_token_file"} {
		if o.given(f) || o.has(f) && !strings.HasPrefix(f, "bearer") {
			o.wrong(o.get(f), "remove one of them", "%s and auth_token or auth_token_file exclude each other",
				o.name(f))
		}
	}
}

// dns checks what the agent's Prometheus looks up.
func dns(o object) { dnsRecords(o) }

// dnsRecords checks what is looked up: SRV records, or some that have no port, of which newer ones may be known.
func dnsRecords(o object, newer ...string) {
	kind, isKnown := o.text("type", "SRV")
	withoutPort := append([]string{"A", "AAAA", "MX"}, newer...)
	switch kind = strings.ToUpper(kind); {
	case !isKnown || kind == "SRV":
	case slices.Contains(withoutPort, kind):
		if port := o.get("port"); port == nil || number0(port) {
			o.wrong(o.at("port"), "", "%s is needed, as only SRV records have one", o.name("port"))
		}
	default:
		o.wrong(o.get("type"), "", "%s: must be %s", o.name("type"),
			alternatives(append([]string{"SRV"}, withoutPort...)))
	}
}

// number0 reports whether a number is zero.
func number0(n *yaml.Node) bool {
	f, ok := number(resolve(n))
	return ok && int64(f) == 0
}

var discoveryFile = lazyregexp.New(`^[^*]*(\*[^/]*)?\.(json|yml|yaml|JSON|YML|YAML)$`)

func files(o object) {
	for _, n := range o.items("files") {
		if text, known := literal(n); known && !discoveryFile.MatchString(text) {
			o.wrong(n, "", "%s: must end in .json, .yml or .yaml, and may have one * in its last part", o.name("files"))
		}
	}
}

func zookeeperPaths(o object) {
	for _, n := range o.items("paths") {
		if text, known := literal(n); known && !strings.HasPrefix(text, "/") {
			o.wrong(n, "", "%s: must begin with a slash", o.name("paths"))
		}
	}
}

func triton(o object) {
	text, known := o.text("refresh_interval", "1m")
	if d, err := model.ParseDuration(text); known && err == nil && d <= 0 {
		o.wrong(o.get("refresh_interval"), "", "%s: must be above zero", o.name("refresh_interval"))
	}
}

// Values that Scaleway's client accepts.
var (
	uuid              = lazyregexp.New(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	scalewayAccessKey = lazyregexp.New(`^SCW[A-Z0-9]{17}$`)
	scalewayZone      = lazyregexp.New(`^[a-z]{2}-[a-z]{3}-[1-9]$`)
)

func scaleway(o object) {
	o.exclusive("secret_key", "secret_key_file")
	if !o.given("secret_key") && !o.given("secret_key_file") {
		o.wrong(o.node, "", "%s or secret_key_file is missing", o.name("secret_key"))
	}
	form := func(field, like string, ok func(string) bool) {
		if text, known := o.text(field, ""); known && o.has(field) && !ok(text) {
			o.wrong(o.get(field), "", "%s: must be like %s", o.name(field), like)
		}
	}
	form("secret_key", "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", func(s string) bool {
		return s == "" || uuid.MatchString(s)
	})
	form("project_id", "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", func(s string) bool {
		return s == "" || uuid.MatchString(s)
	})
	form("access_key", "SCWXXXXXXXXXXXXXXXXX", func(s string) bool {
		return s == "" || scalewayAccessKey.MatchString(s)
	})
	form("zone", "fr-par-1", scalewayZone.MatchString)
	form("api_url", "https://api.scaleway.com, without a slash at the end", func(s string) bool {
		return s != "" && !strings.HasSuffix(s, "/")
	})
	parsedURL("api_url")(o)
}
