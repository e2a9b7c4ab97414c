package compile

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/compile/scrape"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/credential"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// The secrets policy reference keeps credentials out of the output, also those that are written in custom resources.

// literal refuses a plain-text credential in a configuration under a policy that does not allow it there.
func (r *reports) literal(in secretref.Scope, path, what, hint string) {
	if !in.LiteralsAllowed() {
		r.refuse(in, path, what, hint)
	}
}

// literalInPod refuses one that would be in no Secret.
func (r *reports) literalInPod(in secretref.Scope, path, what, hint string) {
	if !in.LiteralsAllowed() || in.IsEncrypted() {
		r.refuse(in, path, what, hint)
	}
}

func (r *reports) refuse(in secretref.Scope, path, what, hint string) {
	r.about(in.Object(), diag.LiteralToken.At(path, "%s", what+" "+scrape.LiteralRefused).WithHint(hint))
}

// literalVariables refuses an object into which variables of Flux, or values of a chart, put values of Secrets.
func (r *reports) literalVariables(in secretref.Scope) {
	for _, name := range in.Object().SecretVariables() {
		r.literalInPod(in, "", name+" puts the value of a Secret into it,",
			"move the value to a ConfigMap if it is not secret, or refer to the Secret in the object")
	}
}

// literalURL refuses a URL that contains a credential.
func (r *reports) literalURL(in secretref.Scope, path, url, hint string) {
	if credential.InURL(url) {
		r.literal(in, path, "contains a credential", hint)
	}
}

// variableHint says how a text of a writer gets a value that must not stand in it.
const variableHint = "write ${NAME}, and let spec.containers of the GrafanaAgent define NAME for the container " +
	"grafana-agent from a Secret"

const endpointHint = "use clientSecret, which refers to a Secret"

// literalFields refuses the credentials among headers or parameters, by their names.
func (r *reports) literalFields(in secretref.Scope, path string, fields map[string]string, hint string) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if credential.InField(name, fields[name]) {
			r.literal(in, path+"["+name+"]", "is, by its name, a credential", hint)
		}
	}
}

// literalsOfRequests refuses the credentials among the parameters of a job's requests.
func (r *reports) literalsOfRequests(in secretref.Scope, job *model.ScrapeConfig) {
	if len(job.Params) == 0 && job.OAuth2 == nil {
		return // as most jobs
	}
	path := job.Origin.Path
	for _, name := range slices.Sorted(maps.Keys(job.Params)) {
		if slices.ContainsFunc(job.Params[name], func(value string) bool { return credential.InField(name, value) }) {
			r.literal(in, path+".params["+name+"]", "is, by its name, a credential",
				"refer to a Secret in basicAuth or authorization, which parameters cannot")
		}
	}
	if job.OAuth2 != nil {
		params := make(map[string]string, len(job.OAuth2.EndpointParams))
		for name, value := range job.OAuth2.EndpointParams {
			params[name] = value.Value
		}
		r.literalFields(in, path+".oauth2.endpointParams", params, endpointHint)
	}
}

// literalsOfContainers refuses the credentials that the containers of a GrafanaAgent get as variables and arguments.
func (r *reports) literalsOfContainers(in secretref.Scope, path string, list []corev1.Container) {
	for i, c := range list {
		at := path + "[" + strconv.Itoa(i) + "]"
		for n, env := range c.Env {
			if credential.InField(env.Name, env.Value) {
				r.literalInPod(in, at+".env["+strconv.Itoa(n)+"].value", env.Name+" is, by its name, a credential",
					"refer to a Secret: valueFrom: {secretKeyRef: {name: ..., key: ...}}")
			}
		}
		for _, list := range [...]struct {
			field string
			words []string
		}{{".command", c.Command}, {".args", c.Args}} {
			for n, word := range list.words {
				if credential.InArgument(word) {
					r.literalInPod(in, at+list.field+"["+strconv.Itoa(n)+"]",
						"gives a flag what is, by its name, a credential",
						"write $(NAME), and let env of the container define NAME from a Secret")
				}
			}
		}
	}
}

// literalsOfJob refuses the credentials in the URLs of a job. In mode current [scrape.HTTPClient] does.
func (r *reports) literalsOfJob(in secretref.Scope, job *model.ScrapeConfig) {
	path := job.Origin.Path
	if job.ProxyURL.Set {
		r.literalURL(in, path+".proxyUrl", job.ProxyURL.Value, scrape.ProxyHint)
	}
	if job.OAuth2 != nil {
		r.literalURL(in, path+".oauth2.tokenUrl", job.OAuth2.TokenURL.Value, scrape.LeaveOutHint)
	}
}

// literalsOfTargets refuses the credentials in the targets of a Probe.
func (r *reports) literalsOfTargets(in secretref.Scope, job *model.ScrapeConfig) {
	path := job.Origin.Path
	if job.Static != nil {
		for i, target := range job.Static.Targets {
			r.literalURL(in, path+".targets.staticConfig.static["+strconv.Itoa(i)+"]", target,
				"put the user and the password into the prober's module")
		}
	}
}

// literals refuses plain-text credentials in the configuration of an integration.
func (c integrationChecks) literals(o *manifest.Object, r *running) (out diag.List) {
	if c.secrets.In(o).LiteralsAllowed() {
		return nil
	}
	for _, path := range r.Literals {
		out = append(out, diag.LiteralToken.At(path, "%s", "is or contains a secret "+scrape.LiteralRefused).
			WithHint("write ${NAME} and let spec.containers of the GrafanaAgent define NAME for the container "+
				"grafana-agent from a Secret, or use a field that names a file"))
	}
	return out
}
