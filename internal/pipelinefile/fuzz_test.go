package pipelinefile

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// fuzzSecret is the content of every file and variable that a fuzzed pipeline names. No word of a pipeline or of a
// message is a part of it.
const fuzzSecret = "zq8wv7jx9kfp"

// FuzzParse parses files, expands those with forEach, and reads the credentials of all.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/*.bad.yaml", "testdata/*.good.yaml"} {
		for _, file := range glob(f, pattern) {
			f.Add(read(f, file))
		}
	}
	f.Add([]byte(eachCluster))
	f.Add([]byte(withSecrets))
	f.Add([]byte(withApp))
	folder := f.TempDir()
	for _, name := range []string{"a", "user", "password", "token", "ca.pem", "hook", "key", "hosts", "app.pem",
		"signers"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(fuzzSecret), 0o600); err != nil {
			f.Fatal(err)
		}
	}
	secret := func(string) (string, bool) { return fuzzSecret + "\n" + fuzzSecret, true }
	f.Fuzz(func(t *testing.T, data []byte) {
		fleet, found := Parse(filepath.Join(folder, "fuzz.yaml"), data)
		if (len(fleet) == 0) != found.HasErrors() {
			t.Errorf("%d pipelines and %v", len(fleet), found)
		}
		for _, p := range fleet {
			if p.each != nil {
				made, more := p.Expand([]string{"clusters/prod", "clusters/dev/deep", "..", "a\x00b"})
				found, fleet = append(found, more...), append(fleet, made...)
			}
		}
		found = append(found, fleetDiags(fleet, true)...)
		for _, p := range fleet {
			checkFilled(t, p)
			_, more := p.Credentials(secret)
			found = append(found, more...)
			if p.each == nil {
				_, more = p.Secrets(secret)
				found = append(found, more...)
			}
		}
		if strings.Contains(string(data), fuzzSecret) {
			return // it was not from a file
		}
		if text := report(t, found); strings.Contains(text, fuzzSecret) {
			t.Errorf("a message holds a secret: %s", text)
		}
	})
}

// checkFilled checks that a pipeline is ready for a pass, and that another check does not change it.
func checkFilled(t *testing.T, p *Pipeline) {
	t.Helper()
	if p.each != nil {
		return
	}
	text, err := json.Marshal(p.Pipeline)
	var again pipeline.Pipeline
	if err = errors.Join(err, json.Unmarshal(text, &again)); err != nil {
		t.Fatal(err)
	}
	again.Default()
	again.Places = p.Places // they are not of the format
	if diff := cmp.Diff(p.Pipeline, again); diff != "" {
		t.Errorf("defaults are not all set, or a copy differs: %s", diff)
	}
	if errs := p.Validate(); len(errs) > 0 {
		t.Errorf("a pipeline that was accepted is not valid: %v", errs)
	}
	if p.Spec.Interval.Duration < time.Second {
		t.Errorf("the interval is %s", p.Spec.Interval)
	}
}
