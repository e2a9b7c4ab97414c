package pipelinefile

import (
	"fmt"
	"io"
	"os"
	"strings"

	"helm.sh/helm/v4/pkg/strvals"
	"k8s.io/apimachinery/pkg/runtime"
)

// Set returns the fields of a pipeline with some of them changed. A change is FIELD=VALUE with the syntax of helm's
// --set, such as spec.runtime=alloy, spec.operator.labels.team=a or spec.passThrough.kinds={Role,RoleBinding}.
func Set(fields map[string]any, changes []string) (map[string]any, error) {
	if len(changes) == 0 {
		return fields, nil
	}
	out := runtime.DeepCopyJSON(fields)
	for _, change := range changes {
		field, _, isChange := strings.Cut(change, "=")
		if !isChange || !strings.HasPrefix(change, "spec.") && !strings.HasPrefix(change, "metadata.") {
			return nil, fmt.Errorf("--set %s: write it like spec.runtime=alloy", field)
		}
		if err := strvals.ParseInto(change, out); err != nil { // the error can hold the value
			return nil, fmt.Errorf("--set %s: this is not FIELD=VALUE as in helm's --set: write a comma in a value "+
				"as \\,", field)
		}
	}
	return out, nil
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
