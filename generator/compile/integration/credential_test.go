package integration

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/agentry-dev/agentry/generator/model"
)

func TestCredentials(t *testing.T) {
	for _, c := range []struct {
		name   string
		config map[string]any
		want   []string // paths
	}{
		{"redis", map[string]any{"redis_addr": "r:1", "redis_password": "p"}, []string{"spec.config.redis_password"}},
		{"redis", map[string]any{"redis_addr": "r:1", "redis_password": "${P}"}, nil},
		{"redis", map[string]any{"redis_addr": "r:1", "redis_password": ""}, nil},
		{"redis", map[string]any{"redis_addr": "r:1", "redis_password_file": "/p"}, nil},
		{"mysql", map[string]any{"data_source_name": "u:p@tcp(h:1)/"}, []string{"spec.config.data_source_name"}},
		{"mysql", map[string]any{"data_source_name": "u@tcp(h:1)/"}, nil},
		{"mysql", map[string]any{"data_source_name": "u:${P}@tcp(h:1)/"}, nil},
		{"postgres", map[string]any{"data_source_names": []any{"postgresql://u@h:1/db", "postgresql://u:p@h:1/db"}},
			[]string{"spec.config.data_source_names[1]"}},
		{"postgres", map[string]any{"data_source_names": []any{"host=h user=u password=p"}},
			[]string{"spec.config.data_source_names[0]"}},
		{"mongodb", map[string]any{"mongodb_uri": "mongodb://h:1"}, nil},
		{"mongodb", map[string]any{"mongodb_uri": "mongodb://u:p@h:1"}, []string{"spec.config.mongodb_uri"}},
		{"app_agent_receiver", map[string]any{"server": map[string]any{"api_key": "k"}},
			[]string{"spec.config.server.api_key"}},
		{"redis", map[string]any{"redis_addr": "r:1", "redis_password": json.Number("918273645")},
			[]string{"spec.config.redis_password"}},
		{"redis", map[string]any{"redis_addr": "r:1", "redis_password": "p${X}"},
			[]string{"spec.config.redis_password"}},
		{"redis", map[string]any{"redis_addr": "r:1", "redis_password": "${X:-p}"},
			[]string{"spec.config.redis_password"}},
		{"redis", map[string]any{"redis_addr": "r:1", "redis_password": "${A}${B}"}, nil},
		{"redis", map[string]any{"redis_addr": "redis://:p@r:1"}, []string{"spec.config.redis_addr"}},
		{"redis", map[string]any{"redis_addr": "redis://:${P}@r:1"}, nil},
		{"snowflake", map[string]any{"account_name": "a", "username": "u", "password": 1, "role": "r",
			"warehouse": "w"}, []string{"spec.config.password"}},
		{"squid", map[string]any{"address": "a:1", "username": "u", "password": 1}, []string{"spec.config.password"}},
		{"vsphere", map[string]any{"vsphere_url": "https://u:p@h/sdk", "vsphere_user": "u", "vsphere_password": 1},
			[]string{"spec.config.vsphere_password", "spec.config.vsphere_url"}},
		{"github", map[string]any{"api_token": 1, "api_url": "https://token@h"},
			[]string{"spec.config.api_token", "spec.config.api_url"}},
		{"elasticsearch", map[string]any{"address": "http://u:p@h:9200"}, []string{"spec.config.address"}},
		{"consul", map[string]any{"server": "http://u:p@h:8500"}, []string{"spec.config.server"}},
		{"apache_http", map[string]any{"scrape_uri": "http://u:p@h/?auto"}, []string{"spec.config.scrape_uri"}},
		{"mysql", map[string]any{"data_source_name": "u/x:p@tcp(h:1)/"}, []string{"spec.config.data_source_name"}},
		{"mysql", map[string]any{"data_source_name": "u:p${X}@tcp(h:1)/"}, []string{"spec.config.data_source_name"}},
		{"postgres", map[string]any{"data_source_names": []any{"postgresql://h/db?sslpassword=p"}},
			[]string{"spec.config.data_source_names[0]"}},
		{"postgres", map[string]any{"data_source_names": []any{"postgresql://${U}:p@h/db"}},
			[]string{"spec.config.data_source_names[0]"}},
		{"blackbox", module(map[string]any{"basic_auth": map[string]any{"username": "u", "password": 1}}),
			[]string{"spec.config.blackbox_config.modules.m.http.basic_auth.password"}},
		{"blackbox", module(map[string]any{"headers": map[string]any{"Authorization": "Basic p", "X-Api-Key": "p",
			"Accept": "x"}}), []string{
			"spec.config.blackbox_config.modules.m.http.headers.Authorization",
			"spec.config.blackbox_config.modules.m.http.headers.X-Api-Key"}},
		{"blackbox", module(map[string]any{"headers": map[string]any{"Authorization": "Basic ${P}"}}), nil},
		{"blackbox", module(map[string]any{"proxy_url": "http://u:p@h"}),
			[]string{"spec.config.blackbox_config.modules.m.http.proxy_url"}},
		{"unknown", map[string]any{"db_password": "p", "token": 1, "url": "http://u:p@h", "passwordFile": "p",
			"key": "p"}, []string{
			"spec.config.db_password", "spec.config.token", "spec.config.url"}},
	} {
		got := Default().Check(Input{Name: c.name, Config: c.config, Strict: true})
		if !slices.Equal(got.Literals, c.want) {
			t.Errorf("%s %v: %v, want %v", c.name, c.config, got.Literals, c.want)
		}
	}
}

// module is the configuration of blackbox with a module of the prober http.
func module(http map[string]any) map[string]any {
	modules := map[string]any{"m": map[string]any{"prober": "http", "http": http}}
	return map[string]any{"blackbox_targets": []any{map[string]any{"name": "a", "address": "h", "module": "m"}},
		"blackbox_config": map[string]any{"modules": modules}}
}

// TestCredentialsAreHidden holds that reviewers do not see them.
func TestCredentialsAreHidden(t *testing.T) {
	c := Default().Check(Input{Name: "redis", Config: map[string]any{"redis_password": "hush ${X}"}})
	if v := c.Config.Get("redis_password"); v != (model.Credential{Value: model.String("hush ${X}"), Masked: true}) {
		t.Errorf("%#v", v)
	}
}
