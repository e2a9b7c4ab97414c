package build

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestRedacted(t *testing.T) {
	const text = `
job_name: a
proxy_url: http://user:hush@proxy
basic_auth: {username: u, password: hush}
authorization: {credentials: 1234hush}
static_configs: [{targets: ["http://user:hush@h"], labels: {key: hush, url: "http://h/x"}}]
sigv4: {access_key: id, secret_key: hush}
`
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	node, hides := redacted(&document)
	shown, err := yaml.Marshal(node)
	if err != nil || !hides || strings.Contains(string(shown), "hush") || !strings.Contains(string(shown), "http://h/x") || !strings.Contains(string(shown), "access_key: id") {
		t.Errorf("%v %v\n%s", hides, err, shown)
	}
}
