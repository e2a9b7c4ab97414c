package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// volume makes a volume of a pod, or brings it up to date.
func (k *kubelet) volume(ctx context.Context, p *pod, v corev1.Volume, now objects) error {
	dir := filepath.Join(p.dir, "volumes", v.Name)
	if v.HostPath != nil {
		dir = k.node(v.HostPath.Path)
	}
	p.volumes[v.Name] = dir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	files, err := k.files(ctx, p, v, now)
	if err != nil || files == nil {
		return err
	}
	if err := inFlow(files); err != nil {
		return err
	}
	if maps.EqualFunc(files, p.published[v.Name], bytes.Equal) {
		return nil
	}
	p.published[v.Name] = files
	return publish(dir, files)
}

// files are what the API server has for a volume. Volumes of other kinds have none.
func (k *kubelet) files(ctx context.Context, p *pod, v corev1.Volume, now objects) (map[string][]byte, error) {
	files := map[string][]byte{}
	switch {
	case v.Secret != nil:
		return files, pick(files, now.secret(p, v.Secret.SecretName), v.Secret.Items, v.Secret.Optional)
	case v.ConfigMap != nil:
		return files, pick(files, now.configMap(p, v.ConfigMap.Name), v.ConfigMap.Items, v.ConfigMap.Optional)
	case v.Projected == nil:
		return nil, nil
	}
	for _, source := range v.Projected.Sources {
		var err error
		switch {
		case source.Secret != nil:
			err = pick(files, now.secret(p, source.Secret.Name), source.Secret.Items, source.Secret.Optional)
		case source.ConfigMap != nil:
			err = pick(files, now.configMap(p, source.ConfigMap.Name), source.ConfigMap.Items,
				source.ConfigMap.Optional)
		case source.DownwardAPI != nil:
			for _, item := range source.DownwardAPI.Items {
				files[item.Path] = []byte(p.field(item.FieldRef.FieldPath))
			}
		case source.ServiceAccountToken != nil:
			err = k.login(ctx, p)
			files[source.ServiceAccountToken.Path] = []byte(p.token)
		}
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// secret is nil if there is none.
func (o objects) secret(p *pod, name string) map[string][]byte {
	s, ok := o.secrets[p.Namespace+"/"+name]
	if ok && s.Data == nil {
		return map[string][]byte{}
	}
	return s.Data
}

// configMap is nil if there is none.
func (o objects) configMap(p *pod, name string) map[string][]byte {
	m, ok := o.configMaps[p.Namespace+"/"+name]
	if !ok {
		return nil
	}
	data := map[string][]byte{}
	for key, value := range m.Data {
		data[key] = []byte(value)
	}
	return data
}

// pick adds the keys that a volume asks for, or all.
func pick(files, data map[string][]byte, items []corev1.KeyToPath, optional *bool) error {
	if len(items) == 0 {
		maps.Copy(files, data)
	}
	if data == nil && (optional == nil || !*optional) {
		return errors.New("its object is not there")
	}
	for _, item := range items {
		value, ok := data[item.Key]
		if !ok && (optional == nil || !*optional) {
			return fmt.Errorf("there is no key %s", item.Key)
		}
		if ok {
			files[item.Path] = value
		}
	}
	return nil
}

// login gets a pod a token of its account.
func (k *kubelet) login(ctx context.Context, p *pod) error {
	if p.token != "" {
		return nil
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID},
	}}
	answer, err := k.client.CoreV1().ServiceAccounts(p.Namespace).CreateToken(ctx, p.Spec.ServiceAccountName, request,
		metav1.CreateOptions{})
	if err == nil {
		p.token = answer.Status.Token
	}
	return err
}

// publish replaces the files of a volume at once, as kubelets do: they are in a folder to which a
// link leads, and that is what programs see change.
func publish(dir string, files map[string][]byte) error {
	const data = "..data"
	next := fmt.Sprintf("..%d", time.Now().UnixNano())
	for name, text := range files {
		path := filepath.Join(dir, next, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, next), 0o700); err != nil { // There may be no files.
		return err
	}
	link := filepath.Join(dir, data)
	old, _ := os.Readlink(link)
	if err := os.Symlink(next, link+"_tmp"); err != nil {
		return err
	}
	if err := os.Rename(link+"_tmp", link); err != nil {
		return err
	}
	for name := range files {
		top, _, _ := strings.Cut(name, "/")
		if err := os.Symlink(filepath.Join(data, top), filepath.Join(dir, top)); err != nil && !os.IsExist(err) {
			return err
		}
	}
	if old == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(dir, old))
}
