// Command builds prints the objects that agentry reads in a repository, as a stream of YAML: what it builds from
// kustomizations, charts and the custom resources of Flux and Argo CD, before it renders anything. Tests in modules
// that cannot import agentry compare them with what Flux and Argo CD make of the same repository:
//
//	builds -mode flux -top REPOSITORY [-url URL] [-cluster NAME] PATH...
//
// Roots that cannot be built are named on stderr, and the exit code is 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/helm/helmworker"
	"github.com/agentry-dev/agentry/inputs/kustomizer"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// isWorker is set in the environment of the process that renders charts: the same program.
const isWorker = "AGENTRY_BUILDS_WORKER"

func main() {
	if os.Getenv(isWorker) != "" {
		os.Exit(helmworker.Serve(os.Stdin, os.Stdout, helm.Limits{}))
	}
	mode := flag.String("mode", string(inputs.Auto), "as --build of agentry")
	top := flag.String("top", ".", "the folder of the repository")
	url := flag.String("url", "", "the repository's URL")
	cluster := flag.String("cluster", "", "as cluster.name of a pipeline")
	flag.Parse()
	workers := helm.NewWorkers(helm.Options{Command: []string{os.Args[0]}, Env: []string{isWorker + "=1"}})
	defer workers.Close()
	kustomize := kustomizer.NewWorkers(kustomizer.Options{})
	defer kustomize.Close()
	search := inputs.Search{Paths: flag.Args(), Mode: inputs.Mode(*mode),
		Options: roots.Options{
			Repositories: roots.Repositories{URL: *url},
			Open:         func() (tree.Files, func(), error) { return open(*top) },
			Kustomize:    kustomize,
			Charts:       &chart.Renderer{Workers: workers, Cluster: helm.Cluster{Name: *cluster}},
		}}
	if err := write(context.Background(), os.Stdout, search); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func open(top string) (tree.Files, func(), error) {
	r, err := os.OpenRoot(top)
	if err != nil {
		return nil, nil, err
	}
	return r.FS().(tree.Files), func() { _ = r.Close() }, nil
}

// write writes the objects of all roots.
func write(ctx context.Context, w io.Writer, search inputs.Search) error {
	files, done, err := search.Options.Open()
	if err != nil {
		return err
	}
	defer done()
	search.Files = files
	layout, err := search.Find(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, r := range layout.All() {
		docs, err := r.Build(ctx, tree.New(ctx, files), search.Options)
		nothing, is := errors.AsType[*diag.Diagnostic](err)
		if err != nil && !(is && nothing.Code == diag.BuildsNothing) {
			failed = append(failed, fmt.Errorf("%s: %w", r.Name, err))
		}
		for _, doc := range docs {
			var object map[string]any
			if err := yaml.Unmarshal(doc.Text, &object); err != nil {
				return err
			}
			metadata, _ := object["metadata"].(map[string]any)
			if namespace := defaultNamespace(r,
				doc.DefaultNamespace); metadata["namespace"] == nil && namespace != "" &&
				object["kind"] != "Namespace" {
				metadata["namespace"] = namespace
			}
			text, err := yaml.Marshal(object)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "---\n%s", text); err != nil {
				return err
			}
		}
	}
	return errors.Join(failed...)
}

// defaultNamespace is that of an object that names none.
func defaultNamespace(r roots.Root, ofChart string) string {
	if r.Namespace != "" {
		return r.Namespace
	}
	return ofChart
}
