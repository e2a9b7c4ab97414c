// Command validate reads a stream of manifests and says what Kubernetes has against each of
// them: it decodes them strictly, merges them with nothing as server-side apply does, fills in
// defaults and validates them with the API server's own code, without an API server. Each document
// is answered by one line of JSON: an Answer.
//
// It does not know what only admission or the state of a cluster decides.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/capabilities"
)

// Answer is about one document.
type Answer struct {
	Object string   `json:"object"` // Kind/namespace/name; empty if it cannot be decoded
	Errors []string `json:"errors"`
	// Warnings are about its pods.
	Warnings []string `json:"warnings"`
}

// types know which lists are maps for server-side apply, and take each key once.
var types = applyconfigurations.NewTypeConverter(legacyscheme.Scheme)

func main() {
	capabilities.Initialize(capabilities.Capabilities{AllowPrivileged: true}) // As API servers are set up.
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	answers := json.NewEncoder(out)
	for documents := yaml.NewYAMLReader(bufio.NewReader(in)); ; {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = answers.Encode(judge(text))
		}
		if err != nil {
			return err
		}
	}
}

// judge says what is wrong with a document.
func judge(text []byte) Answer {
	a := Answer{Errors: []string{}}
	codecs := serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict)
	object, kind, err := codecs.UniversalDeserializer().Decode(text, nil, nil)
	if object != nil && kind != nil {
		if m, err := meta.Accessor(object); err == nil {
			a.Object = kind.Kind + "/" + m.GetNamespace() + "/" + m.GetName()
		}
	}
	if err != nil {
		a.Errors = append(a.Errors, err.Error())
		return a
	}
	if _, err := types.ObjectToTyped(object); err != nil {
		a.Errors = append(a.Errors, "server-side apply: "+err.Error())
	}
	legacyscheme.Scheme.Default(object)
	internal, err := legacyscheme.Scheme.ConvertToVersion(object, runtime.InternalGroupVersioner)
	if err != nil {
		a.Errors = append(a.Errors, err.Error())
		return a
	}
	for _, e := range validate(internal) {
		a.Errors = append(a.Errors, e.Error())
	}
	if template := pods(internal); template != nil {
		a.Warnings = pod.GetWarningsForPodTemplate(context.Background(), field.NewPath("spec", "template"), template,
			nil)
	}
	return a
}

// pods are what a workload makes.
func pods(object runtime.Object) *core.PodTemplateSpec {
	switch o := object.(type) {
	case *apps.StatefulSet:
		return &o.Spec.Template
	case *apps.DaemonSet:
		return &o.Spec.Template
	case *apps.Deployment:
		return &o.Spec.Template
	}
	return nil
}

// validate knows the kinds that agentry renders. Another one is an error, so that none goes
// unseen.
func validate(object runtime.Object) field.ErrorList {
	switch o := object.(type) {
	case *core.Secret:
		return corevalidation.ValidateSecret(o)
	case *core.ConfigMap:
		return corevalidation.ValidateConfigMap(o)
	case *core.Service:
		if o.Spec.ClusterIP == core.ClusterIPNone { // The storage of Services does that before it validates.
			o.Spec.ClusterIPs = []string{core.ClusterIPNone}
		}
		return corevalidation.ValidateServiceCreate(o)
	case *apps.StatefulSet:
		return appsvalidation.ValidateStatefulSet(o, appsvalidation.StatefulSetValidationOptions{},
			pod.GetValidationOptionsFromPodTemplate(&o.Spec.Template, nil))
	case *apps.DaemonSet:
		return appsvalidation.ValidateDaemonSet(o, pod.GetValidationOptionsFromPodTemplate(&o.Spec.Template, nil))
	case *apps.Deployment:
		return appsvalidation.ValidateDeployment(o, pod.GetValidationOptionsFromPodTemplate(&o.Spec.Template, nil))
	}
	return field.ErrorList{field.NotSupported(field.NewPath("kind"), fmt.Sprintf("%T", object),
		[]string{"Secret", "ConfigMap", "Service", "StatefulSet", "DaemonSet", "Deployment"})}
}
