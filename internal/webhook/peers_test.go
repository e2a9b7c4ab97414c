package webhook

import (
	"testing"
)

// TestEachRepositoryHasAWebhookSecretOfItsOwn: argo-cd#2508, #21444. Each repository has its own secret. A pipeline
// without a secret has no webhook, and a signature for one repository triggers no other.
func TestEachRepositoryHasAWebhookSecretOfItsOwn(t *testing.T) {
	const body, cart = `{"ref":"refs/heads/main"}`, "git.example.com/platform/cart"
	for _, kind := range []string{"github", "gitea", "bitbucket", "generic"} {
		w := newTestbed(0,
			Hook{Type: kind, Repository: shop, Secrets: [][]byte{[]byte("of the shop")}},
			Hook{Type: kind, Repository: cart, Secrets: [][]byte{[]byte("of the cart")}},
			Hook{Type: kind, Repository: "git.example.com/open"},
		)
		header := func(key string) map[string]string {
			return map[string]string{
				"X-GitHub-Event": "push", "X-Gitea-Event": "push", "X-Event-Key": "repo:push",
				"X-Hub-Signature-256": sha(key, body), "X-Hub-Signature": sha(key, body), "X-Signature": sha(key, body),
			}
		}
		for _, test := range []struct {
			repository, key string
			want            int
		}{
			{shop, "of the cart", 404}, {cart, "of the shop", 404}, {shop, "", 404}, {"git.example.com/open", "", 404},
			{shop, "of the shop", 202},
		} {
			if got := w.send(delivery{path: "/hook/" + kind + "/" + test.repository, body: body,
				header: header(test.key)}); got.Code != test.want {
				t.Errorf("%s: %s with the secret %q got %d, want %d", kind, test.repository, test.key, got.Code,
					test.want)
			}
		}
		if len(w.triggers) != 1 || w.triggers[0] != shop {
			t.Errorf("%s: triggered %v", kind, w.triggers)
		}
	}
}
