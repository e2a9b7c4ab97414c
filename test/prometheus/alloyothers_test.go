package prometheus

import (
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

// takeOthers removes the service discoveries from a job that need code of clouds to be loaded, and returns them by
// mechanism, in one spelling.
func takeOthers(job map[string]any) map[string]any {
	out := map[string]any{}
	for key, list := range job {
		mechanism, is := strings.CutSuffix(key, "_sd_configs")
		if !is || mechanism == "kubernetes" || mechanism == "http" {
			continue
		}
		delete(job, key)
		loadable(list)
		out[mechanism] = spelled("", list)
	}
	return out
}

// spelled returns a value with texts for all scalars, and one spelling for durations.
func spelled(key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, inner := range v {
			out[k] = spelled(k, inner)
		}
		for name, standard := range map[string]string{"type": "Bearer", "client_id": ""} {
			if out[name] == standard {
				delete(out, name)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, inner := range v {
			out = append(out, spelled("", inner))
		}
		return out
	}
	text := fmt.Sprint(v)
	if key != "refresh_interval" && !strings.HasSuffix(key, "timeout") {
		return text
	}
	if d, err := model.ParseDuration(text); err == nil {
		return time.Duration(d).String()
	}
	if d, err := time.ParseDuration(text); err == nil {
		return d.String()
	}
	return text
}

// inPrometheus returns the fields of a component by Prometheus' names.
func inPrometheus(mechanism string, fields map[string]any) map[string]any {
	switch mechanism {
	case "azure":
		for block, method := range map[string]string{"oauth": "OAuth", "managed_identity": "ManagedIdentity"} {
			credentials, ok := fields[block].(map[string]any)
			if !ok {
				continue
			}
			delete(fields, block)
			if method != "OAuth" {
				fields["authentication_method"] = method
			}
			for name, v := range credentials {
				fields[name] = v
			}
		}
	case "digitalocean":
		for from, to := range map[string]string{"bearer_token": "credentials",
			"bearer_token_file": "credentials_file"} {
			if v, ok := fields[from]; ok {
				delete(fields, from)
				fields["authorization"] = map[string]any{to: v}
			}
		}
	case "docker":
		if fields["match_first_network"] == false { // as the agent, which has no such field
			delete(fields, "match_first_network")
		}
	}
	return fields
}
