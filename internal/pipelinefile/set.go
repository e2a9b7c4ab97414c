package pipelinefile

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"helm.sh/helm/v4/pkg/strvals"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// Set returns the fields of a pipeline with some of them changed. A change is FIELD=VALUE with the syntax of helm's
// --set, such as spec.runtime=alloy, spec.operator.labels.team=a or spec.passThrough.kinds={Role,RoleBinding}. A value
// is a text where the field is one.
func Set(fields map[string]any, changes []string) (map[string]any, error) {
	if len(changes) == 0 {
		return fields, nil
	}
	out, texts := runtime.DeepCopyJSON(fields), runtime.DeepCopyJSON(fields)
	for _, change := range changes {
		field, _, isChange := strings.Cut(change, "=")
		top, rest, _ := strings.Cut(field, ".")
		if !isChange || top != "spec" && top != "metadata" || strings.Trim(rest, ". ") == "" {
			return nil, fmt.Errorf("--set %s: write it like spec.runtime=alloy", field)
		}
		// The error can hold the value.
		if cmp.Or(strvals.ParseInto(change, out), strvals.ParseIntoString(change, texts)) != nil {
			return nil, fmt.Errorf("--set %s: this is not FIELD=VALUE as in helm's --set: write a comma in a value "+
				"as \\,", field)
		}
	}
	return pipeline.WithTexts(out, texts), nil
}

// ReadFile reads a pipeline file, and no more of it than [Parse] accepts.
func ReadFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // nothing was written
	return io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
}
