package yamlvalue

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Item is an item of a list as it is written in a document.
type Item struct {
	// Text is YAML: a sequence with the item alone if IsSequence, otherwise the item.
	Text       string
	IsSequence bool
	// Line and Column are where Text begins in the document, from 1.
	Line, Column int
}

// list returns the items that were decoded, as sequences of one: their lines, which keep the columns.
func (b *block) list() []Item {
	items := make([]Item, 0, len(b.items))
	line, counted := 1, 0
	for i, begin := range b.items {
		end := b.itemsEnd
		if i+1 < len(b.items) {
			end = b.items[i+1]
		}
		line, counted = line+strings.Count(b.text[counted:begin], "\n"), begin
		items = append(items, Item{Text: b.text[begin:end], IsSequence: true, Line: line, Column: 1})
	}
	return items
}

// itemsOfJSON returns the items of a document that was decoded from JSON.
func itemsOfJSON(text string, value any) []Item {
	list, _ := value.(map[string]any)
	count, _ := list["items"].([]any)
	if len(count) == 0 {
		return nil
	}
	items := make([]Item, 0, len(count))
	d := json.NewDecoder(strings.NewReader(text))
	var skipped json.RawMessage
	for _, _ = d.Token(); d.More(); {
		if key, _ := d.Token(); key != "items" {
			_ = d.Decode(&skipped) // the document is valid
			continue
		}
		line, column, counted := 1, 1, 0
		for _, _ = d.Token(); d.More(); {
			if d.Decode(&skipped) != nil {
				return nil
			}
			end := int(d.InputOffset())
			begin := end - len(skipped)
			before := text[counted:begin]
			if at := strings.LastIndexByte(before, '\n'); at >= 0 {
				line, column, before = line+strings.Count(before, "\n"), 1, before[at+1:]
			}
			column, counted = column+utf8.RuneCountInString(before), begin
			items = append(items, Item{Text: text[begin:end], Line: line, Column: column})
		}
		return items
	}
	return nil
}
