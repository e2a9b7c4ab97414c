package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/generator/api/crds"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/internal/cli/command"
)

func crdsCommand(env Env) command.Command {
	return command.Command{
		Name:  "crds",
		Args:  "[KIND...]",
		Usage: "print the CustomResourceDefinitions, or JSON Schemas for editors",
		Description: `The definitions, of all kinds or of those named, are one YAML stream. No cluster needs
them for what agentry renders. With --json-schema it is the schema of the one KIND, or
one JSON object from kind to schema.`,
		Example: "agentry crds --json-schema GrafanaAgent",
		Flags:   []cli.Flag{&cli.BoolFlag{Name: "json-schema", Usage: "print JSON Schemas"}},
		Run: func(_ context.Context, flags *cli.Context, kinds []string) error {
			picked, err := pickCRDs(kinds)
			if err != nil {
				return err
			}
			if flags.Bool("json-schema") {
				return writeSchemas(env.Stdout, picked)
			}
			for _, c := range picked {
				if _, err := fmt.Fprintf(env.Stdout, "---\n%s\n", bytes.TrimSpace(c.YAML)); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// pickCRDs returns the definitions of the kinds, or all if none are given.
func pickCRDs(kinds []string) ([]crds.CRD, error) {
	all, err := crds.All()
	if err != nil || len(kinds) == 0 {
		return all, err
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Kind)
	}
	var picked []crds.CRD
	for _, kind := range kinds {
		if known, ok := explain.Kind(kind); ok {
			kind = known
		}
		c, err := crds.Find(kind)
		if err != nil {
			return nil, command.Usagef(cmp.Or(diag.DidYouMean(kind, names), "there are "+strings.Join(names, ", ")),
				"%v", err)
		}
		picked = append(picked, c)
	}
	return picked, nil
}

func writeSchemas(w io.Writer, picked []crds.CRD) error {
	schemas := map[string]json.RawMessage{}
	for _, c := range picked {
		schema, err := c.JSONSchema()
		if err != nil {
			return fmt.Errorf("%s: %w", c.Kind, err)
		}
		schemas[c.Kind] = schema
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if len(picked) == 1 {
		return e.Encode(schemas[picked[0].Kind])
	}
	return e.Encode(schemas)
}
