package alloy

import (
	"path"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes"
)

// Some components ask their environment for what their arguments lack, when they are built. Alloy does not start, or
// refuses a reload, if one component cannot be built; the agent logs it and goes on.

// needsOfDiscovery warns of what a service discovery needs from its pods to be built. Both runtimes need the regions of
// EC2 and Lightsail, so they are checked elsewhere.
func (f *findings) needsOfDiscovery(at model.Origin, d *model.Discovery) {
	switch {
	case d.Mechanism == "openstack" && d.Settings.Get("identity_endpoint") == nil:
		endpoint := "identityEndpoint"
		if d.Line > 0 {
			endpoint = "identity_endpoint"
		}
		f.needsEnv(at, d.Line, "", "set "+endpoint+" and credentials, or ",
			[]string{"OS_AUTH_URL"},
			[]string{"OS_USERNAME", "OS_USERID", "OS_APPLICATION_CREDENTIAL_ID", "OS_APPLICATION_CREDENTIAL_NAME"},
			[]string{"OS_PASSWORD", "OS_PASSCODE", "OS_APPLICATION_CREDENTIAL_SECRET"})
	case d.Mechanism == "gce":
		f.needsEnv(at, d.Line, ", unless Google Cloud gives its pods an identity", "",
			[]string{"GOOGLE_APPLICATION_CREDENTIALS"})
	}
	files := tlsFiles(&d.HTTPClient)
	for _, setting := range []string{"kubeconfig_file", "secret_key_file", "auth_token_file"} {
		name, _ := d.Settings.Get(setting).(model.String)
		files = append(files, string(name))
	}
	f.needsFiles(at, d.Line, files)
}

// needsOfWriter warns of what a remote write needs from its pods to be built.
func (f *findings) needsOfWriter(w *model.RemoteWrite) {
	if s := w.SigV4; s != nil {
		at := w.Origin
		at.Path += ".sigv4"
		if !s.AccessKey.Present() {
			f.needsEnv(at, 0, ", unless AWS gives its pods a role", "set accessKey and secretKey, or ",
				[]string{"AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE",
					"AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"})
		}
		if s.Region == "" {
			f.needsEnv(at, 0, "", "set region, or ", []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CONFIG_FILE"})
		}
	}
	f.needsFiles(w.Origin, 0, tlsFiles(&w.HTTPClient))
}

// needsEnv warns of variables that the GrafanaAgent does not define, one of each list. unless says when they
// are not needed, and instead what else can be set.
func (f *findings) needsEnv(at model.Origin, line int, unless, instead string, lists ...[]string) {
	var missing []string
	for _, names := range lists {
		isDefined := func(name string) bool { return slices.Contains(f.pod.Env, name) }
		if !f.pod.AnyEnv && !slices.ContainsFunc(names, isDefined) {
			missing = append(missing, names[0])
		}
	}
	if len(missing) == 0 {
		return
	}
	all, them := missing[0], "it"
	if last := len(missing) - 1; last > 0 {
		all, them = strings.Join(missing[:last], ", ")+" and "+missing[last], "them"
	}
	f.warnOfNeed(at, line, all+" in its environment"+unless+"; the GrafanaAgent does not define "+them,
		instead+"define "+all+" by spec.containers of the GrafanaAgent, in env of the container "+
			runtimes.DefaultContainer)
}

// needsFiles warns of files that no volume of the pods holds.
func (f *findings) needsFiles(at model.Origin, line int, names []string) {
	for _, name := range names {
		if path.IsAbs(name) && !strings.Contains(name, "$") && !f.pod.MayHave(name) {
			f.warnOfNeed(at, line, "the file "+name+", and no volume of the pods has it",
				"mount it by spec.secrets, spec.configMaps, or spec.volumes and spec.volumeMounts of the GrafanaAgent")
		}
	}
}

func (f *findings) warnOfNeed(at model.Origin, line int, what, hint string) {
	one := at.Place(diag.NeedsEnvironment.At("", "%s", "Alloy does not start without "+what))
	one.Hint, one.Line = hint, line
	f.Add(one)
}

// tlsFiles returns the files that a client reads when it is made.
func tlsFiles(c *model.HTTPClient) (out []string) {
	add := func(t *model.TLS) {
		if t != nil {
			out = append(out, t.CAFile.Value, t.CertFile.Value, t.Key.File)
		}
	}
	add(c.TLS)
	if c.OAuth2 != nil {
		add(c.OAuth2.TLS)
	}
	return out
}
