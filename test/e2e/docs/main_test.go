// Package docs proves that what the documentation tells people to type can be typed: every block of
// commands, on every page, is run in a shell as it stands, against a real API server, a Git server
// that answers to the names of the pages, and the programs of this checkout. A block goes on where
// the one before it on its page ended, in the same folder and with the same environment; a service
// that a page starts runs until the page ends. What other tests type or read is listed with these
// tests, which must exist; what nobody runs has a comment that says why, and the suite prints how
// many of those there are. A block that is none of the three is an error, and so are commands where
// no test looks for them. Manifests are read by those they are for: agentry, or the API server.
//
// Pods have nothing behind them: those of "helm test" are called successful. So the tests that the
// charts bring are typed and accepted here, and not run.
package docs

import (
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// cluster is that of the suite.
var cluster *harness.Cluster

func TestMain(m *testing.M) {
	harness.Main(m, func(c *harness.Cluster) {
		cluster = c
	}, harness.Agentry(), harness.Aggregator(), harness.ControllerManager(), harness.Kubectl(),
		harness.Helm(), harness.CRDs())
}
