// Command generate writes components.txt from what reflection says of the components that Alloy registers: a JSON file
// with "alloy", "http_client" and "components". Its argument is that file.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
)

type facts struct {
	Alloy      string
	HTTPClient map[string]argument `json:"http_client"`
	Components map[string]component
}

type component struct {
	Stability  *string
	Flow       *string
	Since      string
	HTTPClient []string `json:"http_client"`
	Args       map[string]argument
	Exports    map[string]string
}

type argument struct {
	Kind     string          `json:"k"`
	Type     string          `json:"t"`
	Required bool            `json:"req"`
	Repeated bool            `json:"rep"`
	Default  json.RawMessage `json:"def"`
	Flow     json.RawMessage `json:"flow"`
	Since    string          `json:"since"`
}

func main() {
	data, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	var f facts
	if err := json.Unmarshal(data, &f); err != nil {
		panic(err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Alloy %s; see catalogue.go for the format\nhttp_client\n", f.Alloy)
	arguments(&b, f.HTTPClient)
	for _, name := range slices.Sorted(maps.Keys(f.Components)) {
		c := f.Components[name]
		if c.Stability == nil {
			continue // only in the agent
		}
		b.WriteString(name)
		marks(&b, c.Since, c.Flow == nil)
		b.WriteByte('\n')
		for _, place := range c.HTTPClient {
			b.WriteString(" http_client " + place + "\n")
		}
		arguments(&b, c.Args)
		for _, export := range slices.Sorted(maps.Keys(c.Exports)) {
			b.WriteString(" > " + export + " " + c.Exports[export] + "\n")
		}
	}
	if err := os.WriteFile("components.txt", b.Bytes(), 0o600); err != nil {
		panic(err)
	}
}

func arguments(b *bytes.Buffer, all map[string]argument) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a := all[name]
		kind := a.Type
		if a.Kind != "attr" {
			kind = a.Kind
		}
		b.WriteString(" " + name + " " + kind)
		if a.Required {
			b.WriteString(" !")
		}
		if a.Repeated {
			b.WriteString(" *")
		}
		marks(b, a.Since, string(a.Flow) == "null")
		if len(a.Flow) > 0 && string(a.Flow) != "null" {
			fmt.Fprintf(b, " flow=%s", compact(a.Flow))
		}
		if len(a.Default) > 0 {
			fmt.Fprintf(b, " = %s", compact(a.Default))
		}
		b.WriteByte('\n')
	}
}

func marks(b *bytes.Buffer, since string, notInFlow bool) {
	if since != "" {
		b.WriteString(" @" + since)
	}
	if notInFlow {
		b.WriteString(" ~")
	}
}

func compact(text json.RawMessage) []byte {
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		panic(err)
	}
	return b.Bytes()
}
