package telemetry

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

const (
	registryAddress = "10.255.0.3:8500"
	// consulToken is that of the Secret registry. It comes to the agent through a variable of the reloader.
	consulToken = `0077 "#: \ $1 {} [] &a *b %`
)

// startRegistry starts what answers where targets are: with a list over HTTP, for who has a login, and
// as Consul does, for who has a token.
func startRegistry(t *testing.T) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /targets", func(w http.ResponseWriter, r *http.Request) {
		if login(r) != user {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		reply(w, []map[string]any{{"targets": []string{"10.3.0.4:8080", "10.3.0.5:8080"},
			"labels": map[string]string{"listed": "yes"}}})
	})
	consul := func(path string, answer any) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Consul-Token") != consulToken {
				http.Error(w, "Permission denied", http.StatusForbidden)
				return
			}
			w.Header().Set("X-Consul-Index", "1")
			// Nothing ever changes.
			if wait, err := time.ParseDuration(r.URL.Query().Get("wait")); err == nil &&
				r.URL.Query().Get("index") == "1" {
				select {
				case <-r.Context().Done():
				case <-t.Context().Done(): // Agents ask again at once, and would be waited for.
				case <-time.After(wait):
				}
			}
			reply(w, answer)
		})
	}
	consul("/v1/agent/self", map[string]any{"Config": map[string]string{"Datacenter": "dc1"}})
	consul("/v1/catalog/services", map[string][]string{"shop": {"metrics"}, "untagged": {}})
	consul("/v1/health/service/shop", []any{consulEntry("10.3.0.6"), consulEntry("10.3.0.7")})
	consul("/v1/health/service/untagged", []any{consulEntry("10.3.0.1")})
	listener, err := net.Listen("tcp4", registryAddress)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: mux}}
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
}

// consulEntry is a program at an address, as Consul's health endpoint has it.
func consulEntry(address string) map[string]any {
	return map[string]any{
		"Node": map[string]any{"Node": "machine-" + address, "Address": address, "Datacenter": "dc1",
			"Meta": map[string]string{"rack": "7"}},
		"Service": map[string]any{"ID": "shop-" + address, "Service": "shop", "Tags": []string{"metrics"},
			"Port": 8080},
		"Checks": []any{map[string]string{"Status": "passing"}},
	}
}

func reply(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // Who asks is gone otherwise.
}
