package compile

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/compile/scrape"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/credential"
	"github.com/agentry-dev/agentry/generator/internal/expand"
	"github.com/agentry-dev/agentry/generator/internal/relabel"
	"github.com/agentry-dev/agentry/generator/internal/yamltext"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// remoteWrites builds a remoteWrite list; path is the path of the list.
func (b *builder) remoteWrites(in secretref.Scope, path string, specs []v1alpha1.RemoteWriteSpec) []model.RemoteWrite {
	var out []model.RemoteWrite
	for i := range specs {
		w := b.writer(in, path+"["+strconv.Itoa(i)+"]")
		if b.current {
			out = append(out, w.current(&specs[i]))
		} else {
			out = append(out, w.build(&specs[i]))
		}
	}
	return out
}

// writer builds one remote write or one client of logs; path is its path.
type writer struct {
	report  *reports
	in      secretref.Scope
	path    string
	rules   *scrape.RelabelChecker
	env     environment
	cluster string // namespace/name of the GrafanaAgent
}

func (b *builder) writer(in secretref.Scope, path string) writer {
	return writer{report: b.report, in: in, path: path, rules: &b.relabel, env: b.env(), cluster: b.hierarchy.Name()}
}

func (w writer) origin() model.Origin { return model.Origin{Object: w.in.Object().Ref(), Path: w.path} }

// found reports what is wrong with fields of the writer.
func (w writer) found(d ...diag.Diagnostic) {
	w.report.about(w.in.Object(), diag.List(d).Below(w.path)...)
}

// text returns a text of the custom resource. References to environment variables are expanded in it, and it reports
// what is wrong with them.
func (w writer) text(field, text string) model.String {
	w.found(w.env.check(field, text)...)
	return model.String(text)
}

// optional is [writer.text] for a text that clients of jobs have too.
func (w writer) optional(field, text string) model.Text {
	return model.Expanded(string(w.text(field, text)))
}

// duration is [writer.text] for a duration. What variables make of it is not known.
func (w writer) duration(field, text string) model.String {
	if !expand.Varies(text) {
		w.report.duration(w.in.Object(), w.path+field, text)
	}
	return w.text(field, text)
}

// goDuration is [writer.duration] for one that the agent parses with Go's own parser.
func (w writer) goDuration(field, text string) model.String {
	if !expand.Varies(text) {
		w.report.goDuration(w.in.Object(), w.path+field, text)
	}
	return w.text(field, text)
}

// build builds a remote write as the Grafana Agent Operator does.
func (w writer) build(s *v1alpha1.RemoteWriteSpec) model.RemoteWrite {
	out := w.plain(s, scrape.OwnRelabel)
	for i := range s.WriteRelabelConfigs {
		written := scrape.WrittenRelabel(&s.WriteRelabelConfigs[i])
		w.report.about(w.in.Object(), scrape.EmptyTexts(written,
			w.path+".writeRelabelConfigs["+strconv.Itoa(i)+"]")...)
	}
	out.ProxyURL = w.optional(".proxyUrl", s.ProxyURL)
	w.auth(&out, s)
	if s.TLSConfig != nil {
		out.TLS = w.tls(s.TLSConfig)
	}
	if q := s.QueueConfig; q != nil {
		if out.Queue = w.queue(q); *out.Queue == (model.Queue{}) {
			out.Queue = nil
		}
	}
	return out
}

// plain builds what is the same with both operators. They differ in what convert makes of a rule.
func (w writer) plain(s *v1alpha1.RemoteWriteSpec,
	convert func(*v1alpha1.RelabelConfig) *model.Relabel) model.RemoteWrite {
	out := model.RemoteWrite{
		Origin: w.origin(),
		Name:   w.text(".name", s.Name), URL: w.text(".url", s.URL),
		RemoteTimeout: w.duration(".remoteTimeout", s.RemoteTimeout),
		Headers:       s.Headers,
	}
	w.checkTarget(".url", s.URL)
	w.checkPushPath(s.URL, "add the path that the server takes samples at: Mimir has /api/v1/push, Prometheus "+
		"/api/v1/write")
	w.checkProxy(s.ProxyURL)
	w.checkHeaders(s.Headers)
	samples := relabel.Samples()
	for i := range s.WriteRelabelConfigs {
		r := convert(&s.WriteRelabelConfigs[i])
		r.Written = model.Written{Field: "writeRelabelConfigs", IsBelow: true, Item: i + 1}
		found := slices.Concat(w.rules.Check(r), samples.Lint(out.WriteRelabel, r))
		w.found(found.Below(".writeRelabelConfigs[" + strconv.Itoa(i) + "]")...)
		out.WriteRelabel = append(out.WriteRelabel, r)
	}
	if m := s.MetadataConfig; m != nil {
		out.Metadata = &model.Metadata{Send: m.Send != nil && *m.Send,
			SendInterval: w.duration(".metadataConfig.sendInterval", m.SendInterval)}
	}
	return out
}

// auth sets the credentials. The agent accepts only one kind.
func (w writer) auth(out *model.RemoteWrite, s *v1alpha1.RemoteWriteSpec) {
	var methods []string
	if s.BasicAuth != nil {
		methods = append(methods, "basicAuth")
		out.BasicAuth = w.basicAuth(s.BasicAuth)
	}
	if s.OAuth2 != nil {
		methods = append(methods, "oauth2")
		out.OAuth2 = w.oauth2(s.OAuth2)
	}
	if a := w.bearer(s.BearerToken, s.BearerTokenFile); a != nil {
		methods = append(methods, "bearerToken or bearerTokenFile")
		out.Authorization = a
	}
	if s.SigV4 != nil {
		methods = append(methods, "sigv4")
		out.SigV4 = w.sigV4(s.SigV4)
	}
	if len(methods) > 1 {
		w.found(diag.AuthConflict.At("", "at most one kind of credentials may be set, not %s",
			strings.Join(methods, " and ")))
	}
}

func (w writer) basicAuth(s *monitoringv1.BasicAuth) *model.BasicAuth {
	out := &model.BasicAuth{}
	if s.Username.Name == "" {
		w.found(diag.IncompleteBasicAuth.At(".basicAuth.username",
			"is missing: basicAuth needs a username and a password"))
	} else {
		out.Username = w.in.Value(w.path+".basicAuth.username", &s.Username)
	}
	if s.Password.Name == "" {
		w.found(diag.IncompleteBasicAuth.At(".basicAuth.password",
			"is missing: basicAuth needs a username and a password"))
	} else {
		out.Password.File = w.in.File(w.path+".basicAuth.password", monitoringv1.SecretOrConfigMap{Secret: &s.Password})
	}
	return out
}

func (w writer) oauth2(s *monitoringv1.OAuth2) *model.OAuth2 {
	w.checkTarget(".oauth2.tokenUrl", string(s.TokenURL))
	id := w.in.ValueOnly(w.path+scrape.Leaf(".oauth2.clientId", s.ClientID), s.ClientID)
	secret := w.in.File(w.path+".oauth2.clientSecret", monitoringv1.SecretOrConfigMap{Secret: &s.ClientSecret})
	const needed = "is missing: the agent refuses oauth2 without a client id and a client secret"
	if !scrape.Given(s.ClientID) || scrape.IsOptional(s.ClientID) && !id.Present() || id.Set && id.Value == "" {
		w.found(diag.IncompleteBasicAuth.At(".oauth2.clientId", "%s", needed).With(scrape.Referred(s.ClientID)...))
	}
	if secret == "" && s.ClientSecret.Optional != nil && *s.ClientSecret.Optional {
		w.found(diag.IncompleteBasicAuth.At(".oauth2.clientSecret", "%s", needed).
			With(scrape.Referred(monitoringv1.SecretOrConfigMap{Secret: &s.ClientSecret})...))
	}
	w.report.literalFields(w.in, w.path+".oauth2.endpointParams", s.EndpointParams, endpointHint)
	out := &model.OAuth2{ClientID: id, ClientSecret: model.Secret{File: secret},
		TokenURL: w.optional(".oauth2.tokenUrl", string(s.TokenURL))}
	for i, scope := range s.Scopes {
		out.Scopes = append(out.Scopes, w.optional(".oauth2.scopes["+strconv.Itoa(i)+"]", scope))
	}
	if len(s.EndpointParams) > 0 {
		out.EndpointParams = map[string]model.Text{}
	}
	for name, value := range s.EndpointParams {
		if strings.Contains(name, "${") {
			w.found(diag.EnvReference.At(".oauth2.endpointParams["+name+"]",
				"is not the name of a parameter: variables are expanded in values, not in names"))
		}
		out.EndpointParams[name] = w.optional(".oauth2.endpointParams["+name+"]", value)
	}
	return out
}

func (w writer) sigV4(s *v1alpha1.SigV4Config) *model.SigV4 {
	if (s.AccessKey == nil) != (s.SecretKey == nil) {
		w.found(diag.AuthConflict.At(".sigv4",
			"accessKey and secretKey belong together: set both, or none to use the environment's credentials"))
	}
	out := &model.SigV4{
		Region: w.text(".sigv4.region", s.Region), Profile: w.text(".sigv4.profile", s.Profile),
		RoleARN:   w.text(".sigv4.roleARN", s.RoleARN),
		AccessKey: w.in.ValueOnly(w.path+".sigv4.accessKey", monitoringv1.SecretOrConfigMap{Secret: s.AccessKey}),
		SecretKey: w.in.ValueOnly(w.path+".sigv4.secretKey", monitoringv1.SecretOrConfigMap{Secret: s.SecretKey}),
	}
	w.checkPart(".sigv4.accessKey", s.AccessKey, out.AccessKey, out.SecretKey)
	w.checkPart(".sigv4.secretKey", s.SecretKey, out.SecretKey, out.AccessKey)
	return out
}

// checkPart refuses an empty or missing optional key if the other one is set: the agent wants both or none.
func (w writer) checkPart(field string, ref *corev1.SecretKeySelector, part, other model.Secret) {
	gone := ref != nil && ref.Optional != nil && *ref.Optional && !part.Present()
	if (gone || part.Set && part.Value == "") && (other.Value != "" || other.Env != "") {
		w.found(diag.AuthConflict.At(field, "has no value, and belongs together with the other key: the agent takes "+
			"both or none").With(scrape.Referred(monitoringv1.SecretOrConfigMap{Secret: ref})...))
	}
}

func (w writer) queue(q *v1alpha1.QueueConfig) *model.Queue {
	return &model.Queue{
		Capacity: int64(q.Capacity), MinShards: int64(q.MinShards), MaxShards: int64(q.MaxShards),
		MaxSamplesPerSend: int64(q.MaxSamplesPerSend),
		BatchSendDeadline: w.duration(".queueConfig.batchSendDeadline", q.BatchSendDeadline),
		MinBackoff:        w.duration(".queueConfig.minBackoff", q.MinBackoff),
		MaxBackoff:        w.duration(".queueConfig.maxBackoff", q.MaxBackoff),
	}
}

// checkTarget checks the URL that requests are sent to.
func (w writer) checkTarget(field, value string) {
	w.report.literalURL(w.in, w.path+field, value, scrape.AuthHint)
	u, err := url.Parse(value)
	switch {
	case expand.Varies(value): // what variables make of it is not known
	case err != nil:
		w.checkURL(field, value)
	case u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		w.found(diag.InvalidURL.At(field, "must be a URL that begins with http:// or https://"))
	}
}

// checkPushPath warns of a URL that ends after the host: requests go to exactly this URL, and no server that is known
// takes samples or lines at its root.
func (w writer) checkPushPath(value, hint string) {
	u, err := url.Parse(value)
	if err != nil || expand.Varies(value) || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" ||
		u.Path != "" && u.Path != "/" {
		return
	}
	w.found(diag.InvalidURL.At(".url", "has no path: requests go to the root of the server").As(diag.Warning).
		WithHint(hint))
}

func (w writer) checkProxy(url string) {
	w.checkURL(".proxyUrl", url)
	w.report.literalURL(w.in, w.path+".proxyUrl", url, scrape.ProxyHint)
}

func (w writer) checkURL(field, value string) {
	if value == "" || expand.Varies(value) {
		return
	}
	if _, err := url.Parse(value); err != nil {
		w.found(diag.InvalidURL.At(field, "is not a URL%s", credential.URLProblem(value, err)))
	} else if yamltext.ReadsAsNull(value) {
		w.found(diag.InvalidURL.At(field, "the agent takes %q for no value", value))
	}
}

// checkHeaders refuses the headers that the agent reserves (Prometheus: remote_write configuration).
func (w writer) checkHeaders(headers map[string]string) {
	usable := maps.Clone(headers)
	for name, value := range headers {
		w.text(".headers["+name+"]", value)
		if expand.Touches(name) {
			w.found(diag.InvalidHeader.At(".headers["+name+"]",
				"is not the name of a header: variables are expanded in values, not in names"))
			delete(usable, name)
		}
		switch strings.ToLower(name) {
		case "authorization":
			w.found(diag.InvalidHeader.At(".headers["+name+"]",
				"credentials go into basicAuth, oauth2, sigv4 or the bearer token fields"))
			delete(usable, name)
		case "host", "content-encoding", "content-length", "content-type", "user-agent", "connection", "keep-alive",
			"proxy-authenticate", "proxy-authorization", "www-authenticate", "accept-encoding",
			"x-prometheus-remote-write-version",
			"x-prometheus-remote-read-version", "x-amz-date", "x-amz-security-token", "x-amz-content-sha256":
			w.found(diag.InvalidHeader.At(".headers["+name+"]", "is a header that the agent sets itself"))
			delete(usable, name)
		}
	}
	w.report.literalFields(w.in, w.path+".headers", usable, variableHint)
}

// bearer builds the authorization block from a plain-text token or a file of the agent.
func (w writer) bearer(token, file string) *model.Authorization {
	if token != "" && file != "" {
		w.found(diag.AuthConflict.At(".bearerToken", "at most one of bearerToken and bearerTokenFile may be set"))
	}
	if credential.Written(token) {
		w.report.literal(w.in, w.path+".bearerToken", "is a secret",
			"mount a Secret by spec.secrets of the GrafanaAgent and name its file in bearerTokenFile, or use the "+
				"policy plaintext")
	}
	if token == "" && file == "" {
		return nil
	}
	out := &model.Authorization{Type: model.Present("Bearer")}
	if token != "" {
		out.Credentials = model.Secret{Value: token, Set: true, Variables: w.optional(".bearerToken", token).Variables}
	} else {
		out.Credentials = model.Secret{File: file, Variables: w.optional(".bearerTokenFile", file).Variables}
	}
	return out
}

// tls builds a TLS block. File names take precedence over references.
func (w writer) tls(s *monitoringv1.TLSConfig) *model.TLS {
	file := func(name model.Text, field string, ref monitoringv1.SecretOrConfigMap) model.Text {
		if name.Set {
			return name
		}
		return model.NonEmpty(w.in.File(w.path+".tlsConfig"+field, ref))
	}
	key := monitoringv1.SecretOrConfigMap{Secret: s.KeySecret}
	t := &model.TLS{
		CAFile:     file(w.optional(".tlsConfig.caFile", s.CAFile), scrape.Leaf(".ca", s.CA), s.CA),
		CertFile:   file(w.optional(".tlsConfig.certFile", s.CertFile), scrape.Leaf(".cert", s.Cert), s.Cert),
		Key:        model.SecretFile(file(w.optional(".tlsConfig.keyFile", s.KeyFile), ".keySecret", key)),
		ServerName: w.optional(".tlsConfig.serverName", orDefault(s.ServerName, "")),
	}
	if s.InsecureSkipVerify != nil && *s.InsecureSkipVerify {
		t.InsecureSkipVerify = s.InsecureSkipVerify
	}
	if half, missing := scrape.HalfTLS(t, s.CertFile != "" || scrape.Given(s.Cert),
		s.KeyFile != "" || scrape.Given(key), s.Cert, key); half {
		w.report.about(w.in.Object(), diag.IncompleteTLS.At(w.path+".tlsConfig",
			"a client certificate needs its key, and a key its certificate").With(missing...))
	}
	if *t == (model.TLS{}) {
		return nil
	}
	return t
}

// apiServer builds the settings that all kubernetes_sd_configs share.
func (b *builder) apiServer(in secretref.Scope) model.KubernetesSD {
	s := b.spec.APIServerConfig
	if s == nil {
		return model.KubernetesSD{}
	}
	if b.current {
		return b.writer(in, "spec.apiServer").currentAPIServer(s)
	}
	const path = "spec.apiServer"
	w := b.writer(in, path)
	out := model.KubernetesSD{APIServer: w.optional(".host", s.Host)}
	w.checkURL(".host", s.Host)
	w.report.literalURL(in, path+".host", s.Host, scrape.AuthHint)
	if s.BasicAuth != nil {
		out.BasicAuth = &model.BasicAuth{
			Username: w.basicAuthHalf(".basicAuth.username", s.BasicAuth.Username),
			Password: w.basicAuthHalf(".basicAuth.password", s.BasicAuth.Password),
		}
	}
	out.Authorization = w.bearer(s.BearerToken, s.BearerTokenFile)
	if out.BasicAuth != nil && out.Authorization != nil {
		b.report.about(in.Object(), diag.AuthConflict.At(path,
			"at most one of basicAuth, bearerToken and bearerTokenFile may be set"))
	}
	if s.Host == "" && (out.BasicAuth != nil || out.Authorization != nil || s.TLSConfig != nil) {
		b.report.about(in.Object(), diag.InvalidURL.At(path+".host",
			"is missing: the agent refuses credentials for the API server without its URL"))
	}
	if s.TLSConfig != nil {
		out.TLS = w.tls(s.TLSConfig)
	}
	return out
}
