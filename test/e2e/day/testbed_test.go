package day

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// pod stands in for a pod of agentry's Deployment: the program runs with the pod's arguments and
// rights, and has the files that a kubelet would mount, in folders of its own.
type pod struct {
	dir        string
	deployment *appsv1.Deployment
}

// newPod starts it.
func (d *day) newPod() *pod {
	d.t.Helper()
	deployment, err := cluster.Client(d.t).AppsV1().Deployments("agentry").Get(d.t.Context(), "agentry",
		metav1.GetOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	p := &pod{dir: d.t.TempDir(), deployment: deployment}
	p.refresh(d.t)
	spec := deployment.Spec.Template.Spec
	d.t.Setenv("POD_NAME", "agentry-0")
	args := append(slices.Clone(spec.Containers[0].Args), "--kubeconfig",
		cluster.Kubeconfig(d.t, "agentry", spec.ServiceAccountName))
	for i := range args {
		args[i] = p.here(args[i])
	}
	cluster.Launch(d.t, "agentry", harness.Agentry(), args...)
	harness.Eventually(d.t, "agentry runs the pipeline", func() error {
		out, complaints, _ := d.shell.Type("agentry status")
		if !strings.Contains(out, "stalled") { // There is nothing to read yet.
			return errors.New(out + complaints)
		}
		return nil
	})
	return p
}

// here has the pod's folders where they are.
func (p *pod) here(text string) string {
	for _, m := range p.deployment.Spec.Template.Spec.Containers[0].VolumeMounts {
		text = strings.ReplaceAll(text, m.MountPath+"/", filepath.Join(p.dir, m.Name)+"/")
		if text == m.MountPath || strings.HasSuffix(text, "="+m.MountPath) {
			text = strings.TrimSuffix(text, m.MountPath) + filepath.Join(p.dir, m.Name)
		}
	}
	return text
}

// refresh writes the files of ConfigMaps and Secrets, as they are now.
func (p *pod) refresh(t *testing.T) {
	t.Helper()
	for _, v := range p.deployment.Spec.Template.Spec.Volumes {
		files, err := p.files(t, v)
		if err == nil {
			err = os.MkdirAll(filepath.Join(p.dir, v.Name), 0o700)
		}
		for name, text := range files {
			err = errors.Join(err, os.WriteFile(filepath.Join(p.dir, v.Name, name), []byte(p.here(text)), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (p *pod) files(t *testing.T, v corev1.Volume) (map[string]string, error) {
	t.Helper()
	client := cluster.Client(t).CoreV1()
	switch {
	case v.ConfigMap != nil:
		found, err := client.ConfigMaps("agentry").Get(t.Context(), v.ConfigMap.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return found.Data, nil
	case v.Secret != nil:
		found, err := client.Secrets("agentry").Get(t.Context(), v.Secret.SecretName, metav1.GetOptions{})
		files := map[string]string{}
		for key, value := range found.Data {
			files[key] = string(value)
		}
		return files, err
	case v.EmptyDir != nil:
		return nil, nil
	}
	return nil, fmt.Errorf("the volume %s is of a kind that this stand-in does not know", v.Name)
}

// apply does what Flux does: it applies cluster/ of the input branch and all of the output branch,
// and deletes what it applied of the latter before and is not on it any more.
func (d *day) apply() {
	d.t.Helper()
	const apply = "kubectl apply --server-side --force-conflicts --field-manager=kustomize-controller "
	d.shell.Must(apply + "-f " + d.checkout("main:cluster"))
	branch := d.checkout("environments/prod")
	d.shell.Must(apply + "-k " + branch)
	var have []string
	for _, o := range harness.Decode(d.t, []byte(d.shell.Must("kubectl kustomize "+branch))) {
		have = append(have, o.GetKind()+"/"+o.GetName()+" --namespace="+o.GetNamespace())
	}
	for _, name := range d.had {
		if !slices.Contains(have, name) {
			d.shell.Must("kubectl delete " + name)
		}
	}
	d.had = have
}

// checkout has the files of a branch or folder in Git in a folder.
func (d *day) checkout(tree string) string {
	d.t.Helper()
	dir := d.t.TempDir()
	archive := filepath.Join(d.t.TempDir(), "files.tar")
	d.forge.Git(d.t, "archive", "--format=tar", "--output="+archive, tree)
	d.shell.Must("tar -xf " + archive + " -C " + dir)
	return dir
}

// claims waits for the controllers: until each StatefulSet has the claims of its pods.
func (d *day) claims() {
	d.t.Helper()
	client := cluster.Client(d.t)
	harness.Eventually(d.t, "claims of all StatefulSets", func() error {
		sets, err := client.AppsV1().StatefulSets("").List(d.t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		want := map[string]bool{}
		for _, s := range sets.Items {
			for _, c := range s.Spec.VolumeClaimTemplates {
				want[c.Name+"-"+s.Name+"-0"] = true
			}
		}
		found, err := client.CoreV1().PersistentVolumeClaims("").List(d.t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, c := range found.Items {
			delete(want, c.Name)
		}
		if len(want) > 0 {
			return fmt.Errorf("%q are not there", slices.Sorted(maps.Keys(want)))
		}
		return nil
	})
}
