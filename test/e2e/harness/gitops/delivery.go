package gitops

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// DeliveryToken is the token by which Flux and Argo CD report to agentry what they have applied.
const DeliveryToken = "token-of-deliveries"

// DeliveryFlag writes the token to a file in a folder, and returns the flag of agentry serve that names it.
func DeliveryFlag(t *testing.T, dir string) string {
	t.Helper()
	file := filepath.Join(dir, "delivery.token")
	if err := os.WriteFile(file, []byte(DeliveryToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return "--delivery-token-file=" + file
}

// Delivery is how far the newest commit has come in clusters.
type Delivery struct {
	Commit string
	Rows   []struct{ Cluster, Reconciler, State, Message string }
}

// Delivered waits until agentry says how far a commit has come with its only reconciler, in a message that holds a
// text.
func Delivered(t *testing.T, pipeline, commit, cluster, state, message string) {
	t.Helper()
	harness.Eventually(t, fmt.Sprintf("agentry says that %s is %s", commit, state), func() error {
		s, err := ask(pipeline)
		if err != nil {
			return err
		}
		d := s.Delivery
		if d == nil {
			return errors.New("no cluster has reported")
		}
		if len(d.Rows) != 1 || d.Commit != commit || d.Rows[0].State != state || d.Rows[0].Cluster != cluster ||
			!strings.Contains(d.Rows[0].Message, message) {
			return fmt.Errorf("it says %+v", *d)
		}
		return nil
	})
}
