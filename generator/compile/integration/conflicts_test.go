package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

func TestConflicts(t *testing.T) {
	type one struct {
		in     Input
		config string
	}
	plain := func(name, config string) one { return one{Input{Name: name}, config} }
	for name, c := range map[string]struct {
		pod  []one
		want string
	}{
		"a native singleton": {[]one{plain("agent", "{}"), plain("redis", "redis_addr: a"),
			plain("agent", "instance: x")},
			"0,2 error[unique-integration] spec.name: an agent can run agent only once"},
		"a wrapped singleton, by its two names": {[]one{plain("statsd_exporter", "instance: a"),
			plain("statsd", "instance: b")},
			"0,1 error[unique-integration] spec.name: an agent can run statsd only once"},
		"both unique": {[]one{{Input{Name: "mysql", Unique: true}, "data_source_name: a@(b)/"},
			{Input{Name: "mysql", Unique: true}, "data_source_name: a@(c)/"}},
			"0,1 error[unique-integration] spec.type: both ask to be the only mysql of the GrafanaAgent"},
		"one instance, inferred and written": {[]one{plain("redis", "redis_addr: a"),
			plain("redis", "{redis_addr: b, instance: a}")},
			"0,1 error[integration-instance] spec.config: the agent would not start: two integrations redis get the " +
				"same instance a"},
		"one variable": {[]one{plain("redis", `redis_addr: "${A}"`), plain("redis", `redis_addr: "${A}"`)},
			"0,1 error[integration-instance] spec.config: the agent would not start: two integrations redis get the " +
				"same instance"},
		"other variables": {[]one{plain("redis", `redis_addr: "${A}"`), plain("redis", `redis_addr: "${B}"`)},
			""},
		"one instance, other names": {[]one{plain("redis", "redis_addr: a"),
			plain("memcached", "memcached_address: a")}, ""},
		"the pod's instance, and one port": {[]one{plain("app_agent_receiver", "{}"),
			plain("app_agent_receiver", "{}")},
			"0,1 error[integration-instance] spec.config: the agent would not start: two integrations " +
				"app_agent_receiver get the same instance"},
		"one port": {[]one{plain("app_agent_receiver", "{}"),
			plain("app_agent_receiver", "{instance: b, server: {host: 0.0.0.0}}")},
			"0,1 warning[invalid-integration-config] spec.config: two integrations app_agent_receiver listen on port " +
				"12347: one of them would not run"},
		"two ports": {[]one{plain("app_agent_receiver", "{}"),
			plain("app_agent_receiver", "{instance: b, server: {port: 12348}}")}, ""},
		"equal hashes": {[]one{plain("azure", "{subscriptions: [a], extra_labels: {a: b}}"),
			plain("azure", "subscriptions: [a]")},
			"0,1 error[integration-instance] spec.config: the agent would not start: two integrations azure get the " +
				"same instance"},
		"other hashes": {[]one{plain("azure", "subscriptions: [a]"), plain("azure", "subscriptions: [b]")}, ""},
		"one path": {[]one{plain("redis", "redis_addr: a//b"), plain("redis", "redis_addr: a/b/.")},
			"0,1 error[integration-instance] spec.config: two integrations redis get instances that differ only in " +
				"slashes and dots, and so the same path"},
		"a path below the other": {[]one{plain("redis", "redis_addr: a"), plain("redis", "redis_addr: a/b")},
			"0,1 warning[integration-instance] spec.config: the instance a/b begins with the other's, a, as a path: " +
				"the agent answers for the longer one with the shorter"},
		"a path above the other": {[]one{plain("redis", "redis_addr: a/b"), plain("redis", "redis_addr: a")}, ""},
		"a common beginning":     {[]one{plain("redis", "redis_addr: a"), plain("redis", "redis_addr: ab")}, ""},
		"braces": {[]one{plain("redis", "redis_addr: 'a{b}'"), plain("redis", "redis_addr: c")},
			"0,1 warning[integration-instance] spec.config: an instance that is empty, or has braces or .. in it, " +
				"has no path of its own beside another redis"},
		"an empty one first": {[]one{plain("consul", "server: 'h:80'"),
			plain("consul", "server: 'http://consul:8500'")},
			"0,1 warning[integration-instance] spec.config: an instance that is empty, or has braces or .. in it, " +
				"has no path of its own beside another consul"},
		"an empty one last": {[]one{plain("consul", "server: 'http://consul:8500'"), plain("consul", "server: 'h:80'")},
			"0,1 warning[integration-instance] spec.config: an instance that is empty, or has braces or .. in it, " +
				"has no path of its own beside another consul"},
		"unknown integrations": {[]one{plain("nginx", "{}"), plain("nginx", "{}")}, ""},
	} {
		var pod []Checked
		for _, o := range c.pod {
			pod = append(pod, Default().Check(with(t, o.in, o.config)))
		}
		var got []string
		for _, f := range Conflicts(pod) {
			got = append(got, fmt.Sprintf("%d,%d %s[%s] %s: %s", f.A, f.B, f.Severity, f.Code,
				f.Path, f.Message))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestMark(t *testing.T) {
	c := Default().Check(with(t, Input{Name: "mysqld_exporter", Kind: MetricsIntegration},
		"{data_source_name: root@(db:3306)/, autoscrape: {enable: true}, instance: x, extra_labels: {team: shop, "+
			"__meta_agentoperator_x: y}}"))
	findings := c.Mark(Meta{Namespace: "shop", Name: "db", Type: "normal",
		Labels: map[string]string{"app.kubernetes.io/name": "db", "a": "b"}})
	if len(findings) > 0 {
		t.Error(describe(findings))
	}
	want := model.Map{
		{Key: "autoscrape", Value: model.Map{{Key: "enable", Value: model.Bool(false)}}},
		{Key: "data_source_name", Value: model.Credential{Value: model.String("root@(db:3306)/"), Masked: true}},
		{Key: "extra_labels", Value: model.Map{
			{Key: "__meta_agentoperator_integration_cr_label_a", Value: model.String("b")},
			{Key: "__meta_agentoperator_integration_cr_label_app_kubernetes_io_name", Value: model.String("db")},
			{Key: "__meta_agentoperator_integration_cr_labelpresent_a", Value: model.String("true")},
			{Key: "__meta_agentoperator_integration_cr_labelpresent_app_kubernetes_io_name",
				Value: model.String("true")},
			{Key: "__meta_agentoperator_integration_cr_name", Value: model.String("db")},
			{Key: "__meta_agentoperator_integration_cr_namespace", Value: model.String("shop")},
			{Key: "__meta_agentoperator_integration_type", Value: model.String("normal")},
			{Key: "team", Value: model.String("shop")},
		}},
		{Key: "instance", Value: model.String("shop/db")},
	}
	if diff := cmp.Diff(want, c.Config); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if c.Instance != "shop/db" || !c.InstanceKnown {
		t.Errorf("instance %q, known %v", c.Instance, c.InstanceKnown)
	}
}

func TestLabelsThatBecomeTheSame(t *testing.T) {
	c := Default().Check(with(t, Input{Name: "redis", Kind: MetricsIntegration}, "redis_addr: a"))
	got := c.Mark(Meta{Namespace: "n", Name: "m", Type: "normal", Labels: map[string]string{"a.b": "1", "a-b": "2"}})
	want := diag.List{{Severity: diag.Error, Code: diag.InvalidLabelName, Path: "metadata.labels[a.b]",
		Hint:    "rename one of them",
		Message: "the labels a-b and a.b become the same meta label, __meta_agentoperator_integration_cr_label_a_b"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
