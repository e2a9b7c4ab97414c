package command

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v2"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
)

// The formats that each command with a result has.
const (
	Text = "text"
	JSON = "json"
	YAML = "yaml"
)

// Formats returns the words that the flag --format of a command takes.
func Formats(command string) []string {
	all := []string{Text, JSON, YAML}
	switch command {
	case "check":
		return append(all, "github", "sarif")
	case "diff":
		return append(all, "markdown")
	case "tree", "explain":
		return append(all, "svg", "dot")
	case "test":
		return append(all, "junit")
	}
	return all
}

// FormatFlag returns the flag --format of a command.
func FormatFlag(command string) *cli.StringFlag {
	return &cli.StringFlag{Name: "format", Aliases: []string{"o"}, Value: Text,
		Usage: "print as `FORMAT`: " + diag.Alternatives(Formats(command))}
}

// Format returns the value of the flag --format. A variable that is empty sets none.
func Format(flags *cli.Context, planned ...string) (string, error) {
	if flags.String("format") == "" {
		return Text, nil
	}
	return Choice(flags, "format", Formats(flags.Command.Name), planned...)
}

// IsData reports whether a format is one for programs, which [WriteData] writes.
func IsData(format string) bool { return format == JSON || format == YAML }

// WriteData writes a value as JSON or YAML, with the same keys. Its texts cannot control a terminal.
func WriteData(w io.Writer, format string, value any) error {
	if format == JSON {
		return diag.WriteJSON(w, value)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	var plain any
	if err := yaml.Unmarshal(text, &plain); err != nil {
		return err
	}
	out, err := yaml.Marshal(harmless(plain))
	if err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	_, err = w.Write(out)
	return err
}

// harmless returns a value of JSON whose texts cannot control a terminal.
func harmless(value any) any {
	switch v := value.(type) {
	case string:
		return diag.OneLine(v)
	case []any:
		v = slices.Clone(v)
		for i := range v {
			v[i] = harmless(v[i])
		}
		return v
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, of := range v {
			out[diag.OneLine(name)] = harmless(of)
		}
		return out
	}
	return value
}
