// Command generate writes what is derived from the API types and from the types of pipeline files and hierarchy tests:
// the CRDs and schemas with their descriptions (for people and editors), and the schemas without (for validation).
//
// It is run by "go generate ./generator/...". The CRDs of the Prometheus Operator's kinds are made from its API
// module, in the version in the root's go.mod.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: generate ROOT OUT")
		fmt.Fprintln(os.Stderr, "reads the packages of the repository at ROOT, writes the generated files below OUT")
		os.Exit(2)
	}
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func generate(root, out string) error {
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	// The package loader works relative to the current directory.
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := writeCRDs(out); err != nil {
		return fmt.Errorf("write CRDs: %w", err)
	}
	if err := writeConfiguration(out); err != nil {
		return fmt.Errorf("write the schemas of pipelines and of tests: %w", err)
	}
	return nil
}
