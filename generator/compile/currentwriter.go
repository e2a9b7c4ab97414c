package compile

import (
	"slices"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/compile/scrape"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/expand"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// current builds a remote write as today's Prometheus Operator does.
func (w writer) current(s *v1alpha1.RemoteWriteSpec) model.RemoteWrite {
	out := w.plain(s, scrape.WrittenRelabel)
	out.SendExemplars, out.SendNativeHistograms = s.SendExemplars, s.SendNativeHistograms
	out.RoundRobinDNS = s.RoundRobinDNS != nil && *s.RoundRobinDNS
	if v := s.MessageVersion; v != nil && *v == monitoringv1.RemoteWriteMessageVersion2_0 {
		out.Message = model.WriteV2
	}
	proxy := monitoringv1.ProxyConfig{NoProxy: s.NoProxy, ProxyFromEnvironment: s.ProxyFromEnvironment,
		ProxyConnectHeader: s.ProxyConnectHeader}
	if s.ProxyURL != "" {
		proxy.ProxyURL = &s.ProxyURL
	}
	out.HTTPClient = w.client(s.BearerToken, scrape.Client{
		BasicAuth: s.BasicAuth, Authorization: s.Authorization, OAuth2: s.OAuth2, BearerTokenFile: s.BearerTokenFile,
		TLS: s.TLSConfig, Proxy: proxy, FollowRedirects: s.FollowRedirects, EnableHTTP2: s.EnableHTTP2,
	})
	if s.OAuth2 != nil {
		w.report.literalFields(w.in, w.path+".oauth2.endpointParams", s.OAuth2.EndpointParams, endpointHint)
	}
	var methods []string
	if out.HTTPAuth != (model.HTTPAuth{}) {
		methods = append(methods, "credentials of HTTP")
	}
	if s.SigV4 != nil {
		methods = append(methods, "sigv4")
		out.SigV4 = w.sigV4(s.SigV4)
		out.SigV4.ExternalID, out.SigV4.FIPS = w.text(".sigv4.externalId", s.SigV4.ExternalID),
			s.SigV4.UseFIPSSTSEndpoint != nil && *s.SigV4.UseFIPSSTSEndpoint
	}
	if s.AzureAD != nil {
		methods = append(methods, "azureAd")
		out.AzureAD = w.azureAD(s.AzureAD)
	}
	if len(methods) > 1 {
		w.found(diag.AuthConflict.At("", "at most one kind of credentials may be set, not %s",
			strings.Join(methods, " and ")))
	}
	if q := s.QueueConfig; q != nil {
		out.Queue = w.queue(q)
		out.Queue.RetryOn429 = q.RetryOnRateLimit
		if q.SampleAgeLimit != nil {
			out.Queue.SampleAgeLimit = w.duration(".queueConfig.sampleAgeLimit", string(*q.SampleAgeLimit))
		}
	}
	if s.MetadataConfig != nil {
		out.Metadata.MaxSamplesPerSend = s.MetadataConfig.MaxSamplesPerSend
	}
	return out
}

// client returns the HTTP client of a writer or of the API server. token is a bearer token in clear text.
func (w writer) client(token string, c scrape.Client) model.HTTPClient {
	c.Expand = w.env.check
	out, findings := scrape.HTTPClient(w.in, w.path+".", c)
	w.report.about(w.in.Object(), findings...)
	if token == "" {
		return out
	}
	if out.HTTPAuth != (model.HTTPAuth{}) {
		w.found(diag.AuthConflict.At(".bearerToken",
			"at most one kind of credentials may be set, and there are others beside it"))
	}
	out.BearerToken = w.bearer(token, "").Credentials
	return out
}

// Prometheus refuses other spellings of identifiers.
var (
	azureID     = lazyregexp.New(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	azureTenant = lazyregexp.New(`^[0-9a-zA-Z.-]+$`)
)

// azureAD returns the credentials for Azure.
func (w writer) azureAD(s *monitoringv1.AzureAD) *model.AzureAD {
	out := &model.AzureAD{Cloud: w.text(".azureAd.cloud", orDefault(s.Cloud, "")),
		Scope: w.text(".azureAd.scope", orDefault(s.Scope, ""))}
	id := func(field, value string) model.String {
		if !expand.Varies(value) && !azureID.MatchString(value) {
			w.found(diag.InvalidSetting.At(".azureAd."+field,
				"%q is not the id of an application, like 11111111-2222-4333-8444-555555555555", value))
		}
		return w.text(".azureAd."+field, value)
	}
	tenant := func(field, value string) model.String {
		if !expand.Varies(value) && !azureTenant.MatchString(value) {
			w.found(diag.InvalidSetting.At(".azureAd."+field, "%q is not the id of a tenant", value))
		}
		return w.text(".azureAd."+field, value)
	}
	var kinds []string
	for name, set := range map[string]bool{"managedIdentity": s.ManagedIdentity != nil, "oauth": s.OAuth != nil,
		"sdk": s.SDK != nil, "workloadIdentity": s.WorkloadIdentity != nil} {
		if set {
			kinds = append(kinds, name)
		}
	}
	slices.Sort(kinds)
	switch m, o, k := s.ManagedIdentity, s.OAuth, s.WorkloadIdentity; {
	case len(kinds) == 0:
		w.found(diag.IncompleteAuth.At(".azureAd", "needs managedIdentity, oauth, sdk or workloadIdentity"))
	case len(kinds) > 1:
		w.found(diag.AuthConflict.At(".azureAd", "at most one kind of credentials may be set, not %s",
			strings.Join(kinds, " and ")))
	case m != nil:
		out.ManagedIdentity = model.Present("")
		if name := orDefault(m.ClientID, ""); name != "" {
			out.ManagedIdentity = id("managedIdentity.clientId", name).Text()
		}
	case o != nil:
		secret := monitoringv1.SecretOrConfigMap{Secret: &o.ClientSecret}
		out.OAuth = &model.AzureOAuth{ClientID: id("oauth.clientId", o.ClientID),
			TenantID:     tenant("oauth.tenantId", o.TenantID),
			ClientSecret: w.in.ValueOnly(w.path+".azureAd.oauth.clientSecret", secret)}
		if given := out.OAuth.ClientSecret; scrape.IsOptional(secret) && !given.Present() ||
			given.Set && given.Value == "" {
			w.found(diag.IncompleteAuth.At(".azureAd.oauth.clientSecret",
				"is missing: azureAd does not work without it").With(scrape.Referred(secret)...))
		}
	case k != nil:
		out.WorkloadIdentity = &model.AzureWorkloadIdentity{ClientID: id("workloadIdentity.clientId", k.ClientID),
			TenantID: tenant("workloadIdentity.tenantId", k.TenantID)}
	default:
		out.SDK = &model.AzureSDK{TenantID: w.text(".azureAd.sdk.tenantId", orDefault(s.SDK.TenantID, ""))}
	}
	return out
}

// currentAPIServer builds the settings that all kubernetes_sd_configs share, as today's Prometheus Operator does.
// Unlike there, references are looked up in the GrafanaAgent's namespace.
func (w writer) currentAPIServer(s *v1alpha1.APIServerConfig) model.KubernetesSD {
	out := model.KubernetesSD{APIServer: w.optional(".host", s.Host)}
	w.checkURL(".host", s.Host)
	w.report.literalURL(w.in, w.path+".host", s.Host, scrape.AuthHint)
	out.HTTPClient = w.client(s.BearerToken, scrape.Client{
		BasicAuth: s.BasicAuth, Authorization: s.Authorization, BearerTokenFile: s.BearerTokenFile, TLS: s.TLSConfig,
		Proxy: s.ProxyConfig,
	})
	if s.Host == "" {
		w.found(diag.InvalidURL.At(".host",
			"is missing: the agent refuses settings for the API server without its URL"))
	}
	return out
}
