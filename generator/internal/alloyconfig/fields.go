package alloyconfig

import (
	"strings"
)

// Components returns the components and the program's settings in a text as lists, maps, strings, numbers and
// booleans, in the order of the text. Each has its id in the field component. Blocks that a component can have several
// times become lists with their name. Blocks called stage.KIND form the list stages, because their order matters.
func Components(text string) ([]any, error) {
	blocks, err := Blocks(text)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(blocks))
	for i, b := range blocks {
		fields := fields(b)
		fields["component"] = b.ID()
		out[i] = fields
	}
	return out, nil
}

// isList reports whether a component can have several blocks with a name. Any other block becomes a field.
func isList(block string) bool {
	switch block {
	case "rule", "write_relabel_config", "endpoint", "selectors", "filter":
		return true
	}
	return false
}

// fields returns the attributes and blocks of a block.
func fields(b *Block) map[string]any {
	out := make(map[string]any, len(b.Attrs)+len(b.Blocks)+1)
	for _, a := range b.Attrs {
		out[a.Name] = value(a.Value)
	}
	times := map[string]int{}
	for _, inner := range b.Blocks {
		times[inner.Name]++
	}
	for _, inner := range b.Blocks {
		var v any = fields(inner)
		if inner.Label != "" {
			v.(map[string]any)["label"] = inner.Label
		}
		name := inner.Name
		if stage, is := strings.CutPrefix(name, "stage."); is {
			name, v = "stages", map[string]any{stage: v}
		}
		if name != "stages" && !isList(name) && times[name] < 2 {
			out[name] = v
			continue
		}
		all, _ := out[name].([]any)
		out[name] = append(all, v)
	}
	return out
}

// Targets returns the ids of the components whose targets an expression contains. value is an expression as
// [Components] returns it.
func Targets(value any) (out []string) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			out = append(out, Targets(item)...)
		}
	case string:
		if at := strings.LastIndexByte(v, '.'); at > 0 && v == strings.Map(nameOnly, v) {
			out = append(out, v[:at])
		}
	}
	return out
}

// nameOnly drops the characters that a reference cannot contain.
func nameOnly(r rune) rune {
	if r < 0x80 && isName(byte(r)) {
		return r
	}
	return -1
}
