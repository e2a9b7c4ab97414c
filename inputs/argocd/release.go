package argocd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"helm.sh/helm/v4/pkg/strvals"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/inputs/helm"
)

// release makes the Helm release of a source's chart.
type release struct {
	*Source
	of   HelmSource
	env  env
	own  fileSource
	refs map[string]repository // by reference, such as $values
}

// make returns the release for Helm to render.
func (r *release) make(app *Application, chart []helm.File, cluster helm.Cluster) (helm.Release, error) {
	out := helm.Release{Name: app.Metadata.Name, Namespace: app.Spec.Destination.Namespace, Chart: chart,
		Cluster: cluster}
	field := r.Field + ".helm"
	if r.of.ReleaseName != "" {
		out.Name = r.of.ReleaseName
	}
	const maxName = 53 // Helm's limit
	if len(out.Name) > maxName {
		return out, problem(field+".releaseName", "set a shorter one",
			"the release name %q has more than %d characters", out.Name, maxName)
	}
	if r.of.Namespace != "" {
		out.Namespace = r.of.Namespace
	}
	if r.of.KubeVersion != "" {
		out.Cluster.Version = r.of.KubeVersion
	}
	if len(r.of.APIVersions) > 0 {
		out.Cluster.APIVersions = r.of.APIVersions
	}
	if name, err := out.Cluster.Check(); err != nil {
		return out, problem(field+"."+strings.Replace(name, "version", "kubeVersion", 1), "", "%s", err)
	}
	var err error
	out.Values, err = r.values(field)
	return out, err
}

// values merges the value files, the values in the Application, and the parameters, in this order.
func (r *release) values(field string) (map[string]any, error) {
	files, err := r.valueFiles(field)
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	for _, f := range files {
		text, err := f.source.read(f.name)
		if err != nil {
			return nil, readProblem(field+".valueFiles", err)
		}
		var more map[string]any
		if yaml.Unmarshal(text, &more) != nil {
			return nil, problem(field+".valueFiles", "", "the file %s is not a Helm values file", f.name)
		}
		values = helm.Merge(values, more)
	}
	var own map[string]any
	if len(r.of.ValuesObject) > 0 && string(r.of.ValuesObject) != "null" {
		err = json.Unmarshal(r.of.ValuesObject, &own)
	} else {
		err = yaml.Unmarshal([]byte(r.of.Values), &own)
	}
	if err != nil {
		return nil, problem(field+".values", "", "are not Helm values")
	}
	values = helm.Merge(values, own)
	return values, r.parameters(field, values)
}

// valueFiles returns the value files in order of increasing precedence. A file that is named itself is left out of
// patterns.
func (r *release) valueFiles(field string) ([]file, error) {
	found := make([][]file, len(r.of.ValueFiles))
	single := make([]bool, len(found))
	seen := map[string]bool{}
	for i, name := range r.of.ValueFiles {
		at := fmt.Sprintf("%s.valueFiles[%d]", field, i)
		files, isPattern, err := r.find(at, name)
		if err != nil {
			return nil, err
		}
		if single[i] = !isPattern; single[i] {
			seen[files[0].key()] = true
			_, err := files[0].source.read(files[0].name)
			if errors.Is(err, fs.ErrNotExist) {
				files = nil
			} else if err != nil {
				return nil, readProblem(at, err)
			}
		}
		if len(files) == 0 && !r.of.IgnoreMissingValueFiles {
			return nil, problem(at, "correct it, or set ignoreMissingValueFiles", "the file %.200q does not exist",
				name)
		}
		found[i] = files
	}
	var out []file
	for i, files := range found {
		for _, f := range files {
			if single[i] || !seen[f.key()] {
				seen[f.key()] = true
				out = append(out, f)
			}
		}
	}
	return out, nil
}

// parameters sets single values: first like helm --set, then like --set-string, then like --set-file.
func (r *release) parameters(field string, values map[string]any) error {
	for _, isText := range []bool{false, true} {
		set := strvals.ParseInto
		if isText {
			set = strvals.ParseIntoString
		}
		for i, p := range r.of.Parameters {
			if p.ForceString != isText {
				continue
			}
			at := fmt.Sprintf("%s.parameters[%d]", field, i)
			value, err := r.env.expand(at, p.Value)
			if err != nil {
				return err
			}
			if set(p.Name+"="+escapeCommas(value), values) != nil {
				return problem(at, "write it as for helm --set", "it cannot be set")
			}
		}
	}
	for i, p := range r.of.FileParameters {
		at := fmt.Sprintf("%s.fileParameters[%d]", field, i)
		files, isPattern, err := r.find(at+".path", p.Path)
		if err != nil {
			return err
		}
		if isPattern || len(files) != 1 {
			return problem(at+".path", "", "%.200q is not one file", p.Path)
		}
		text, err := files[0].source.read(files[0].name)
		if err != nil {
			return readProblem(at+".path", err)
		}
		if strvals.ParseIntoFile(p.Name+"=file", values, func([]rune) (any, error) {
			return string(text), nil
		}) != nil {
			return problem(at+".name", "write it as for helm --set-file", "it cannot be set")
		}
	}
	return nil
}

// escapeCommas escapes the commas of a value that is not a list.
func escapeCommas(value string) string {
	if strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}") {
		return value
	}
	var out strings.Builder
	for i := range len(value) {
		if value[i] == ',' && (i == 0 || value[i-1] != '\\') {
			out.WriteByte('\\')
		}
		out.WriteByte(value[i])
	}
	return out.String()
}

// env has the environment variables of Argo CD's builds.
type env map[string]string

func newEnv(app *Application, s *Source) env {
	return env{
		"ARGOCD_APP_NAME": app.Metadata.Name, "ARGOCD_APP_NAMESPACE": app.Spec.Destination.Namespace,
		"ARGOCD_APP_PROJECT_NAME":    app.Spec.Project,
		"ARGOCD_APP_SOURCE_REPO_URL": s.RepoURL, "ARGOCD_APP_SOURCE_PATH": s.Path,
		"ARGOCD_APP_SOURCE_TARGET_REVISION": s.TargetRevision,
	}
}

// expand replaces variables as Argo CD does: unknown ones become empty. It refuses variables that contain the commit.
func (e env) expand(field, text string) (string, error) {
	var revision string
	text = os.Expand(text, func(name string) string {
		if name == "$" {
			return name
		}
		if strings.HasPrefix(name, "ARGOCD_APP_REVISION") {
			revision = name
		}
		return e[name]
	})
	if revision != "" {
		return "", refused(field, "use a value that is in Git", "$%s differs in each commit", revision)
	}
	return text, nil
}
