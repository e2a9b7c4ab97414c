package exporter

import (
	"github.com/agentry-dev/agentry/generator/model"
)

// The agent's defaults for app_agent_receiver, which differ from those of faro.receiver.
var (
	faroServerDefaults = []model.Pair{{Key: "max_allowed_payload_size", Value: model.String("5000000B")}}
	faroRateDefaults   = []model.Pair{{Key: "rate", Value: model.Number("100")},
		{Key: "burst_size", Value: model.Number("50")}}
)

// faroServer sets where the receiver listens and what it takes.
func (a *arguments) faroServer(v model.Value) {
	server := renamed(v, map[string]string{"host": "listen_address", "port": "listen_port"})
	for i, p := range server {
		switch p.Key {
		case "max_allowed_payload_size":
			if number, is := p.Value.(model.Number); is {
				server[i].Value = model.String(number + "B")
			}
		case "rate_limiting":
			server[i].Value = renamed(p.Value, map[string]string{"rps": "rate", "burstiness": "burst_size"})
		}
	}
	a.set("server", server)
}

// renamed returns a map in which some keys have other names.
func renamed(v model.Value, names map[string]string) model.Map {
	m, _ := v.(model.Map)
	var out model.Map
	for _, p := range m {
		if name, is := names[p.Key]; is {
			p.Key = name
		}
		out = append(out, p)
	}
	return out
}

// FaroDefaults adds what the agent does by default to the arguments of a receiver.
func FaroDefaults(values *model.Map) {
	server, _ := values.Get("server").(model.Map)
	rate, _ := server.Get("rate_limiting").(model.Map)
	server, rate = absent(server, faroServerDefaults), absent(rate, faroRateDefaults)
	replace(&server, "rate_limiting", rate)
	replace(values, "server", server)
	sourcemaps, _ := values.Get("sourcemaps").(model.Map)
	replace(values, "sourcemaps", absent(sourcemaps, []model.Pair{{Key: "download", Value: model.Bool(false)}}))
}

// absent returns a map with the pairs whose keys it does not have.
func absent(m model.Map, all []model.Pair) model.Map {
	out := append(model.Map(nil), m...)
	for _, p := range all {
		if m.Get(p.Key) == nil {
			out = append(out, p)
		}
	}
	return out
}

func replace(m *model.Map, key string, v model.Value) {
	for i := range *m {
		if (*m)[i].Key == key {
			(*m)[i].Value = v
			return
		}
	}
	m.Set(key, v)
}

// faroSourcemaps sets where the receiver finds source maps.
func (a *arguments) faroSourcemaps(v model.Value) {
	a.set("sourcemaps", renamed(v,
		map[string]string{"download_origins": "download_from_origins", "filesystem": "location"}))
}

// eventNamespace sets the namespace whose events are read; all are if it is empty.
func (a *arguments) eventNamespace(v model.Value) {
	if v != model.String("") {
		a.set("namespaces", model.List{v})
	}
}
