package integration

import (
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
		{"postgres", map[string]any{"data_source_names": []any{"postgresql://u@h:1/db", "postgresql://u:p@h:1/db"}}, []string{"spec.config.data_source_names[1]"}},
		{"postgres", map[string]any{"data_source_names": []any{"host=h user=u password=p"}}, []string{"spec.config.data_source_names[0]"}},
		{"mongodb", map[string]any{"mongodb_uri": "mongodb://h:1"}, nil},
		{"mongodb", map[string]any{"mongodb_uri": "mongodb://u:p@h:1"}, []string{"spec.config.mongodb_uri"}},
		{"app_agent_receiver", map[string]any{"server": map[string]any{"api_key": "k"}}, []string{"spec.config.server.api_key"}},
	} {
		got := Default().Check(Input{Name: c.name, Config: c.config, Strict: true})
		if !slices.Equal(got.Literals, c.want) {
			t.Errorf("%s %v: %v, want %v", c.name, c.config, got.Literals, c.want)
		}
	}
}

// TestCredentialsAreHidden holds that reviewers do not see them.
func TestCredentialsAreHidden(t *testing.T) {
	c := Default().Check(Input{Name: "redis", Config: map[string]any{"redis_password": "hush ${X}"}})
	if v := c.Config.Get("redis_password"); v != model.Credential("hush ${X}") {
		t.Errorf("%#v", v)
	}
}
