package manifest

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Namespaces returns Namespaces that have no manifest, by name, with their labels. Their place in reports is the path.
func Namespaces(labels map[string]map[string]string, path string) Result {
	var text []byte
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		one, _ := yaml.Marshal(&corev1.Namespace{ // strings can always be encoded
			TypeMeta:   metav1.TypeMeta{APIVersion: coreVersion, Kind: NamespaceKind},
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels[name]},
		})
		text = append(append(text, "---\n"...), one...)
	}
	return Parse(File{Path: path, Data: text}, Options{})
}

// namespaceHole stands for the namespace in a pattern of paths.
const namespaceHole = "{namespace}"

// CheckNamespaceFrom returns what is wrong with a value of [Options.NamespaceFrom].
func CheckNamespaceFrom(pattern string) error {
	if strings.Count(pattern, namespaceHole) != 1 {
		return errors.New("must hold " + namespaceHole + " once, as namespaces/{namespace}/** does")
	}
	for part := range strings.SplitSeq(pattern, "/") {
		if part == "" || part == "." || part == ".." {
			return errors.New("must be a relative path in which no part is empty or leads up")
		}
		if rest := strings.Replace(part, namespaceHole, "", 1); part != "**" && part != "*" && strings.ContainsAny(rest, "*{}") {
			return errors.New("* and ** must stand alone between slashes")
		}
	}
	return nil
}

// namespaceFrom returns the namespace that a pattern finds in a path, or "".
func namespaceFrom(pattern, path string) string {
	if pattern == "" {
		return ""
	}
	namespace, ok := matchFolders(strings.Split(pattern, "/"), strings.Split(path, "/"), "")
	if !ok || !isPlainName(namespace) {
		return ""
	}
	return namespace
}

// matchFolders matches the parts of a path with those of a pattern, and returns the namespace, which may have been
// found before.
func matchFolders(pattern, path []string, found string) (namespace string, ok bool) {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			for i := range len(path) + 1 {
				if namespace, ok = matchFolders(pattern[1:], path[i:], found); ok {
					return namespace, true
				}
			}
			return "", false
		}
		if len(path) == 0 {
			return "", false
		}
		before, after, isHole := strings.Cut(pattern[0], namespaceHole)
		switch {
		case isHole:
			if len(path[0]) <= len(before)+len(after) || !strings.HasPrefix(path[0], before) || !strings.HasSuffix(path[0], after) {
				return "", false
			}
			found = path[0][len(before) : len(path[0])-len(after)]
		case pattern[0] != "*" && pattern[0] != path[0]:
			return "", false
		}
		pattern, path = pattern[1:], path[1:]
	}
	return found, len(path) == 0
}
