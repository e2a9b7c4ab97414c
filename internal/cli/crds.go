package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator/api/crds"
)

func crdsCommand(env Env) command {
	return command{
		name:  "crds",
		usage: "print the CustomResourceDefinitions, or JSON Schemas for editors",
		description: `The definitions are one YAML stream. No cluster needs them for what agentry renders.
With --json-schema it is one JSON object, from kind to schema.`,
		example: "agentry crds",
		flags:   []cli.Flag{&cli.BoolFlag{Name: "json-schema", Usage: "print JSON Schemas"}},
		run: func(_ context.Context, flags *cli.Context, _ []string) error {
			all, err := crds.All()
			if err != nil {
				return err
			}
			if flags.Bool("json-schema") {
				return writeSchemas(env.Stdout, all)
			}
			for _, c := range all {
				if _, err := fmt.Fprintf(env.Stdout, "---\n%s\n", bytes.TrimSpace(c.YAML)); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func writeSchemas(w io.Writer, all []crds.CRD) error {
	schemas := map[string]json.RawMessage{}
	for _, c := range all {
		schema, err := c.JSONSchema()
		if err != nil {
			return fmt.Errorf("%s: %w", c.Kind, err)
		}
		schemas[c.Kind] = schema
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(schemas)
}
