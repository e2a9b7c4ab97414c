package sopsworker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/inputs/sops"
)

// TestFilesThatTheProgramSOPSWrote reads those in testdata of package sops with the keys there.
func TestFilesThatTheProgramSOPSWrote(t *testing.T) {
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join("..", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	key := func(name string) sops.Key { return sops.Key{Name: name, Text: read(name)} }
	all := []sops.Key{key("pgp.asc"), key("ssh.agekey"), key("age.agekey")}
	workers := newTestWorkers(t)
	for name, c := range map[string]struct {
		format sops.Format
		key    string
		want   string
	}{
		"age.yaml":         {sops.YAML, "age.agekey", "\n    password: first-password\n"},
		"age-rotated.yaml": {sops.YAML, "age.agekey", "\n    password: second-password\n"},
		"ssh.yaml":         {sops.YAML, "ssh.agekey", "\n    password: first-password\n"},
		"pgp.yaml":         {sops.YAML, "pgp.asc", "\n    password: first-password\n"},
		"two.yaml":         {sops.YAML, "age.agekey", "\n    password: third-password\n"},
		"two-groups.yaml":  {sops.YAML, "", "\n    password: first-password\n"},
		"age.json":         {sops.JSON, "age.agekey", `"password": "first-password"`},
		"age.env":          {sops.Dotenv, "age.agekey", "PASSWORD=first-password\n"},
		"age.bin":          {sops.Binary, "age.agekey", "first-password\n"},
	} {
		files := []sops.File{{Format: c.format, Data: read(name)}}
		sets := [][]sops.Key{all}
		if c.key != "" {
			sets = append(sets, []sops.Key{key(c.key)})
		}
		for _, keys := range sets {
			got, err := workers.Decrypt(t.Context(), keys, files)
			if err != nil || got[0].Reason != "" || !strings.Contains(string(got[0].Data), c.want) {
				t.Errorf("%s with %d keys: got %v, %q, %q", name, len(keys), err, got[0].Reason, got[0].Data)
			}
		}
		others := []sops.Key{newPerson(t).age}
		if c.key == "" {
			others = []sops.Key{key("age.agekey")} // one of two groups
		}
		if got, err := workers.Decrypt(t.Context(), others, files); err != nil ||
			!strings.HasPrefix(got[0].Reason, "none of the keys decrypts it") {
			t.Errorf("%s without its key: got %v, %+v", name, err, got)
		}
	}
}
