package manifest_test

import (
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/passthrough"
)

func TestTenantOfAFile(t *testing.T) {
	t.Parallel()
	teams := manifest.Tenants{Folders: "teams/{namespace}/**"}
	clusters := manifest.Tenants{Folders: "clusters/*/team-{namespace}/**"}
	source := manifest.Tenants{Folders: "teams/{namespace}/**", All: "shop",
		Mounted: map[string]string{"@blog": "blog", "@platform": ""}}
	for _, c := range []struct {
		tenants  manifest.Tenants
		file     string
		tenant   string
		isTenant bool
	}{
		{manifest.Tenants{}, "teams/shop/x.yaml", "", false},
		{teams, "teams/shop/x.yaml", "shop", true},
		{teams, "teams/shop/deep/er/x.yaml", "shop", true},
		{teams, "./teams//shop/../shop/x.yaml", "shop", true},
		{teams, "teams/shop/../../platform/x.yaml", "", false},
		{teams, "teams/x.yaml", "", false},
		{teams, "teams/Shop/x.yaml", "", true},
		{teams, "Teams/shop/x.yaml", "", false},
		{teams, "@other/teams/shop/x.yaml", "", false},
		{clusters, "clusters/eu/team-shop/x.yaml", "shop", true},
		{clusters, "clusters/eu/team-/x.yaml", "", true},
		{clusters, "clusters/eu/shop/x.yaml", "", true},
		{clusters, "clusters/eu/x.yaml", "", false},
		{clusters, "clusters/team-shop/x.yaml", "", false},
		{source, "x.yaml", "shop", true},
		{source, "teams/blog/x.yaml", "shop", true},
		{source, "@other/x.yaml", "shop", true},
		{source, "@blog/x.yaml", "blog", true},
		{source, "@blogs/x.yaml", "shop", true},
		{source, "@platform/x.yaml", "", false},
		{source, "@platform/teams/a/x.yaml", "a", true},
		{source, "@blog/../x.yaml", "shop", true},
	} {
		if tenant, isTenant := c.tenants.Of(c.file); tenant != c.tenant || isTenant != c.isTenant {
			t.Errorf("%+v: %s is of %q, %v", c.tenants, c.file, tenant, isTenant)
		}
	}
}

func TestPatternsOfTenants(t *testing.T) {
	t.Parallel()
	for pattern, valid := range map[string]bool{
		"teams/{namespace}/**": true, "{namespace}/**": true, "a/*/b-{namespace}-c/**": true,
		"": false, "teams/**": false, "teams/{namespace}": false, "**/{namespace}/**": false, "{namespace}/x/**": false,
		"../{namespace}/**": false, "/teams/{namespace}/**": false, "{namespace}/{namespace}/**": false,
	} {
		if err := manifest.CheckTenants(pattern); (err == nil) != valid {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

// TestWayOutOfABreach does as the hint says, after which nothing is found.
func TestWayOutOfABreach(t *testing.T) {
	t.Parallel()
	const monitor = "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n" +
		"metadata: {name: web, namespace: blog}\nspec: {selector: {}, endpoints: [{port: http}]}\n"
	kinds, _, _, err := passthrough.Parse([]string{"ClusterRole", "StorageClass.storage.k8s.io", "ConfigMap"})
	if err != nil {
		t.Fatal(err)
	}
	find := func(file, text string) diag.List {
		opts := manifest.Options{Tenants: manifest.Tenants{Folders: "teams/{namespace}/**"}, PassThrough: kinds}
		return manifest.Parse(manifest.File{Path: file, Data: []byte(text)}, opts).Diags
	}
	class := "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: x, namespace: shop}\nprovisioner: x\n"
	for _, c := range []struct{ file, text, hint, otherFile, otherText string }{
		{"teams/shop/x.yaml", monitor, "move the object to namespace shop", "teams/shop/x.yaml",
			strings.Replace(monitor, "blog", "shop", 1)},
		{"teams/shop/x.yaml", monitor,
			"or define it in a file that no tenant has a say in, outside of teams/{namespace}/**", "platform/x.yaml",
			monitor},
		{"teams/B_log/x.yaml", monitor, "rename the folder to the namespace", "teams/blog/x.yaml", monitor},
		{"teams/shop/x.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: blog}\n",
			"define it in a file that no tenant", "platform/x.yaml",
			"apiVersion: v1\nkind: Namespace\nmetadata: {name: blog}\n"},
		{"teams/shop/x.yaml", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: x}\n" +
			"rules: []\n", "define it in a file that no tenant", "x.yaml",
			"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: x}\nrules: []\n"},
		{"teams/shop/x.yaml", class, "define it in a file that no tenant", "x.yaml", class},
		{"teams/shop/x.yaml", "apiVersion: v1\nkind: List\nitems:\n" +
			"- {apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: blog}}\n",
			"move the object to namespace shop", "teams/shop/x.yaml",
			"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: " +
				"shop}}\n"},
	} {
		found := find(c.file, c.text)
		if len(found) != 1 || found[0].Code != diag.Tenancy || found[0].Severity != diag.Error ||
			!strings.Contains(found[0].Hint, c.hint) || found[0].Line == 0 {
			t.Errorf("%s: %v\n%s", c.file, found, c.text)
		}
		if found := find(c.otherFile, c.otherText); len(found) > 0 {
			t.Errorf("although it was corrected: %v", found)
		}
	}
}

// TestTenantsDescribeNoSecretsOfOthers: neither by an object of which only the name is read, nor by one that is passed
// through.
func TestTenantsDescribeNoSecretsOfOthers(t *testing.T) {
	t.Parallel()
	const secret = "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\n" +
		"metadata: {name: login, namespace: blog}\nspec: {data: [{secretKey: evil, remoteRef: {key: platform}}]}\n"
	kinds, _, _, err := passthrough.Parse([]string{"ExternalSecret.external-secrets.io"})
	if err != nil {
		t.Fatal(err)
	}
	for _, passed := range []passthrough.Kinds{"", kinds} {
		opts := manifest.Options{Tenants: manifest.Tenants{Folders: "teams/{namespace}/**"}, PassThrough: passed}
		r := manifest.Parse(manifest.File{Path: "teams/shop/x.yaml", Data: []byte(secret)}, opts)
		if len(r.Named)+len(r.Objects) > 0 || len(r.Diags) != 1 || r.Diags[0].Code != diag.Tenancy {
			t.Errorf("passed through %q: %v, %v", passed, r.Named, r.Diags)
		}
		if r := manifest.Parse(manifest.File{Path: "teams/blog/x.yaml", Data: []byte(secret)}, opts); len(r.Named) !=
			1 {
			t.Errorf("passed through %q: its own is not read: %v", passed, r.Diags)
		}
	}
}
