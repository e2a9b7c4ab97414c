package yamlvalue

import "strings"

// parserWords has plain words for the messages of the YAML parser, which speak of its own tokens, and hints. raw is the
// beginning of a message.
var parserWords = []struct{ raw, message, hint string }{
	{"did not find expected ',' or ']'", "a comma or ] is missing in a list that begins with [",
		"put commas between its items, and quotes around an item that holds [, ], {, } or a colon"},
	{"did not find expected ',' or '}'", "a comma or } is missing in a mapping that begins with {",
		"put commas between its keys, and quotes around a text that holds [, ], {, } or a comma"},
	{"did not find expected key", "no key of the mapping above begins here",
		"indent the keys of a mapping alike, and write nothing behind a text in quotes"},
	{"did not find expected '-' indicator", "no item of the list above begins here",
		"begin each item with a dash, and indent the dashes alike; a key beside the list belongs further left"},
	{"did not find expected node content", "a value is missing, or begins with a character that has a meaning in YAML",
		"write a value, or quote the one that is there"},
	{"did not find expected <document start>", "something follows the end of the document",
		"put a line with nothing but --- between documents"},
	{"could not find expected ':'", "a colon is missing behind a key",
		"write key: value; a text of several lines begins with | or is in quotes"},
	{"mapping keys are not allowed", "no key can begin here", "quote a value that begins with ?"},
	{"block sequence entries are not allowed", "no item of a list can begin here",
		"write the items on lines of their own, below the key"},
	{"found character that cannot start any token", "no value begins with this character",
		"indent with spaces, not tabs, and quote values that begin with @, % or `"},
	{"found a tab character", "a tab is in the indentation", "indent with spaces"},
	{"found unexpected end of stream", "a text in quotes is not closed", "write the quote at its end"},
	{"found unexpected document indicator", "a text in quotes is not closed before ---", "write the quote at its end"},
	{"found unknown escape character", "a text in double quotes has a \\ with an unknown letter behind it",
		"use single quotes, in which \\ is a letter like any other, or write \\\\"},
	{"did not find expected comment or line break", "text follows the | or > that begins a text of several lines",
		"begin the text on the next line"},
	{"did not find expected alphabetic", "no name follows & or *", "quote a value that begins with & or *"},
	{"found undefined tag handle", "a tag has an unknown beginning", "quote a value that begins with !"},
	{"control characters are not allowed", "the document holds control characters", "save it as text in UTF-8"},
}

// plainWords translates a message of the YAML parser into plain words, behind the line that it may begin with, and
// adds a hint. It returns messages that it does not know unchanged.
func plainWords(raw string) (message, hint string) {
	for _, p := range parserWords {
		if line, _, found := strings.Cut(raw, p.raw); found {
			return line + p.message, p.hint
		}
	}
	return raw, ""
}
