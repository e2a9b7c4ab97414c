package kustomize

import (
	_ "embed"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

//go:generate go test . -run TestPhrasesAreThoseOfKustomize -update

// phrases are the fixed parts of the errors in kustomize's source, one a line: what is in none of them may be a value.
// TestPhrasesAreThoseOfKustomize writes them.
//
//go:embed phrases.txt
var phrases string

// byFirstWord returns the phrases by their first word, the longest first.
var byFirstWord = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for phrase := range strings.Lines(phrases) {
		phrase = strings.TrimSpace(phrase)
		first := firstWord(phrase)
		out[first] = append(out[first], phrase)
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	}
	return out
})

const (
	// left stands for the text that is left out of an error.
	left = "…"
	// maxWords limits the length of what is left of an error.
	maxWords = 400
)

// words returns kustomize's own words in an error, with the names of files and objects of the repository. All else is
// left out, because it may be a value of a Secret or a patch. It returns "" if nothing remains.
func (c *checker) words(text string) string {
	known := c.names()
	var out strings.Builder
	between, isPhrase := "", false
	keep := func(word string) {
		between = strings.Join(strings.Fields(between), " ")
		switch plain := strings.Trim(between, " '`\":,()"); {
		case out.Len() == 0 && plain == "":
		case plain == "" && strings.Contains(between, ":"):
			out.WriteString(": ")
		case plain == "":
			out.WriteString(" ")
		default:
			out.WriteString(" " + left + " ")
		}
		out.WriteString(word)
		between = ""
	}
	for text != "" && out.Len() < maxWords {
		word := text[:wordEnd(text)]
		if word == "" {
			between, text = between+text[:1], text[1:]
			continue
		}
		phrase := phraseAt(text)
		shown := known.show(word)
		switch {
		case phrase != "":
			isPhrase, word = true, phrase
			keep(phrase)
		case shown != "":
			keep(shown)
		default:
			between += word
		}
		text = text[len(word):]
	}
	if !isPhrase {
		return ""
	}
	if text != "" || strings.Trim(between, " '`\":,()\n") != "" {
		out.WriteString(" " + left)
	}
	return strings.TrimSpace(out.String())
}

// wordEnd returns the length of the word with which a text begins.
func wordEnd(text string) int {
	if i := strings.IndexAny(text, " \t\n'`\",;()"); i >= 0 {
		return i
	}
	return len(text)
}

// phraseAt returns the longest phrase with which a text begins, or "".
func phraseAt(text string) string {
	for _, phrase := range byFirstWord()[firstWord(text)] {
		rest, found := strings.CutPrefix(text, phrase)
		if found && (rest == "" || !isWordByte(rest[0])) {
			return phrase
		}
	}
	return ""
}

func firstWord(text string) string { return strings.TrimRight(text[:wordEnd(text)], ":") }

func isWordByte(b byte) bool {
	return b == '_' || b == '-' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || b >= 0x80
}

// knownNames are the names that an error may show.
type knownNames struct {
	files   map[string]bool
	kinds   map[string]bool
	objects []string
}

// names returns the files of the build, and the kinds and names of the objects in them.
func (c *checker) names() knownNames {
	out := knownNames{files: map[string]bool{}, kinds: map[string]bool{}}
	for file := range c.tree.Texts() {
		for ; file != "."; file = path.Dir(file) {
			out.files[file] = true
		}
	}
	objects := map[string]bool{}
	for dir, f := range c.files {
		for _, e := range f.entries() {
			if out.files[path.Join(dir, e.path)] {
				out.files[e.path] = true
			}
		}
	}
	for file := range c.refs.Files {
		for doc := range documents(c.tree.Texts()[file]) {
			_, kind, rest := manifest.Walk(doc, "kind")
			_, name, restOfName := manifest.Walk(doc, "metadata.name")
			if rest+restOfName == "" {
				out.kinds[kind.Value], objects[name.Value] = true, true
			}
		}
	}
	out.objects = slices.Collect(maps.Keys(objects))
	return out
}

// objectID matches kustomize's notation of an object, Kind.version.group/name.namespace, as name does.
var objectID = lazyregexp.New(`^([A-Za-z]+)\.[^/]*/(.+)$`)

// show returns how to show a word that is the name of a file or an object, or "".
func (k knownNames) show(word string) string {
	word = strings.Trim(word, ":.")
	file := strings.TrimPrefix(word, "/")
	if k.files[file] {
		return file
	}
	m := objectID.FindStringSubmatch(word)
	if m == nil || !k.kinds[m[1]] {
		return ""
	}
	for _, name := range k.objects {
		if m[2] == name || strings.HasPrefix(m[2], name+".") {
			return m[1] + "/" + name
		}
	}
	return ""
}
