package yamlvalue

import "testing"

// BenchmarkDecode decodes the documents of the conformance corpus: as agentry does; with the library alone, as agentry
// decodes what its own parser gives up at; and as Kubernetes does, with the same values. It is why there is a parser of
// our own.
func BenchmarkDecode(b *testing.B) {
	documents, size := corpus(b), 0
	for _, document := range documents {
		size += len(document)
	}
	for _, reader := range []struct {
		name   string
		decode func(string) (any, error)
	}{
		{"agentry", func(text string) (any, error) { value, _, err := Decode(text); return value, err }},
		{"library", func(text string) (any, error) { value, _, err := decodeYAML(text); return value, err }},
		{"kubernetes", oracle},
	} {
		b.Run(reader.name, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				for _, document := range documents {
					if _, err := reader.decode(document); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
