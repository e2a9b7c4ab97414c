package yamlvalue

import (
	"strconv"

	"go.yaml.in/yaml/v3"
)

// maxNotes limits the notes about a document.
const maxNotes = 20

// booleanKeys returns a note for each key that is read as a boolean but looks like a string.
func booleanKeys(text string) []Note {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return nil
	}
	return appendBooleanKeys(nil, &document)
}

func appendBooleanKeys(notes []Note, node *yaml.Node) []Note {
	for i, child := range node.Content {
		if len(notes) == maxNotes {
			return notes
		}
		if node.Kind == yaml.MappingNode && i%2 == 0 && child.Kind == yaml.ScalarNode && child.Style == 0 {
			if b, ok := resolveWord(child.Value).(bool); ok && child.Value != strconv.FormatBool(b) {
				notes = append(notes, Note{Line: child.Line, Column: child.Column, Key: child.Value,
					Value: strconv.FormatBool(b)})
			}
		}
		notes = appendBooleanKeys(notes, child)
	}
	return notes
}
