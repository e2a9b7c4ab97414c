// Package rendered finds the agents' configurations in a folder of rendered manifests, each
// together with the pods that read it.
package rendered

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/agentry-dev/agentry/test/agentcheck/check"
)

// Key is where a Secret holds a configuration, and alloyKey where it holds one of Alloy.
const (
	Key      = "agent.yml"
	alloyKey = "config.alloy"
)

// Config is a configuration, and the workload that runs agents with it.
type Config struct {
	File     string // that of the Secret
	Workload string // kind/namespace/name, empty if no workload mounts the Secret
	Text     string
	Pod      check.Pod
}

// workload is what StatefulSets, DaemonSets and Deployments have in common.
type workload struct {
	Kind     string
	Metadata metav1.ObjectMeta
	Spec     struct{ Template corev1.PodTemplateSpec }
}

type secret struct {
	corev1.Secret
	file string
}

// Read reads all *.yaml files below a folder. A Secret counts once for every workload that
// mounts it, because their environments differ; one that nothing mounts counts with the
// pod that the operator would make.
func Read(dir string) ([]Config, error) { return read(dir, Key) }

// ReadAlloy is [Read] for what is rendered for Alloy.
func ReadAlloy(dir string) ([]Config, error) { return read(dir, alloyKey) }

func read(dir, key string) ([]Config, error) {
	secrets, workloads, err := objects(dir)
	if err != nil {
		return nil, err
	}
	var out []Config
	for _, s := range secrets {
		text, ok, err := configuration(s.Secret, key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.file, err)
		}
		if !ok {
			continue
		}
		mounted := false
		for _, w := range workloads {
			if !w.mounts(s.Secret) {
				continue
			}
			mounted = true
			id := w.Kind + "/" + w.Metadata.Namespace + "/" + w.Metadata.Name
			out = append(out, Config{File: s.file, Workload: id, Text: text, Pod: w.pod()})
		}
		if !mounted {
			out = append(out, Config{File: s.file, Text: text, Pod: check.DefaultPod()})
		}
	}
	return out, nil
}

func objects(dir string) (secrets []secret, workloads []workload, err error) {
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".yaml" {
			return err
		}
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		docs := yaml.NewYAMLReader(bufio.NewReader(file))
		for {
			doc, err := docs.Read()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err == nil {
				err = decode(doc, name, &secrets, &workloads)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	})
	return secrets, workloads, err
}

func decode(doc []byte, file string, secrets *[]secret, workloads *[]workload) error {
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal(doc, &kind); err != nil {
		return err
	}
	switch kind.Kind {
	case "Secret":
		s := secret{file: file}
		err := yaml.Unmarshal(doc, &s.Secret)
		*secrets = append(*secrets, s)
		return err
	case "StatefulSet", "DaemonSet", "Deployment":
		var w workload
		err := yaml.Unmarshal(doc, &w)
		*workloads = append(*workloads, w)
		return err
	}
	return nil
}

// configuration is the text in a Secret, which is zipped when it is large.
func configuration(s corev1.Secret, key string) (text string, ok bool, err error) {
	if text, ok := s.StringData[key]; ok {
		return text, true, nil
	}
	data, ok := s.Data[key]
	if !ok || !bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		return string(data), ok, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return "", true, err
	}
	data, err = io.ReadAll(r)
	return string(data), true, err
}
