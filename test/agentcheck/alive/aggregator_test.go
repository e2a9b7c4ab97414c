package alive

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// aggregator stands in for the sd-aggregator: it asks the agents' pods, here one address
// for each GrafanaAgent, and adds whose they are.
func aggregator(pods map[string]string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/operator/api/v1/metrics/integrations/sd", func(w http.ResponseWriter, r *http.Request) {
		owners := slices.Sorted(maps.Keys(pods))
		if r.URL.Query().Has("grafanaagent") {
			owners = []string{r.URL.Query().Get("grafanaagent")}
		}
		all := []group{}
		for _, owner := range owners {
			groups, err := discovery(pods[owner])
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
			for _, g := range groups {
				namespace, name, _ := strings.Cut(owner, "/")
				g.Labels["__meta_agentoperator_grafanaagent_namespace"] = namespace
				g.Labels["__meta_agentoperator_grafanaagent_name"] = name
				all = append(all, g)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(all)
	})
	return mux
}
