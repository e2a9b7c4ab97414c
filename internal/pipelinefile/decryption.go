package pipelinefile

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/inputs/sops"
)

// decryption reads the keys for what SOPS encrypted.
func (r *resolver) decryption(d pipeline.Decryption) []sops.Key {
	var keys []sops.Key
	if text := r.bytes("spec.decryption.key", d.KeyFile, d.KeyEnv); text != nil {
		name := "decryption.keyEnv"
		if d.KeyFile != "" {
			name = "decryption.keyFile"
		}
		keys = append(keys, sops.Key{Name: name, Text: text})
	}
	if d.KeyFolder == "" || r.pipeline.each != nil && usesFolder(d.KeyFolder) {
		return keys
	}
	const field = "spec.decryption.keyFolder"
	r.named = append(r.named, Named{Field: field, File: d.KeyFolder})
	inFolder, err := r.folder(r.pipeline.resolve(d.KeyFolder))
	if err != nil {
		r.failAt(field, err)
	}
	return append(keys, inFolder...)
}

// folder reads the keys of a folder, of which there must be one.
func (r *resolver) folder(folder string) (keys []sops.Key, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !pipeline.IsKey(e.Name()) {
			continue
		}
		text, err := readFile(filepath.Join(folder, e.Name()), MaxCredentialBytes)
		if err != nil {
			return nil, err
		}
		keys = append(keys, sops.Key{Name: "the key " + e.Name(), Text: text})
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s has no file that ends in .agekey or .asc", folder)
	}
	return keys, nil
}
