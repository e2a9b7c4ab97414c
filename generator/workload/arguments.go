package workload

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/diag"
)

// missingArguments reports arguments that a container needs but a patch replaces, because lists of arguments are never
// merged. It is a warning if the patch also replaces the program, because that can be a script that adds them.
func (a grafanaAgent) missingArguments(path string, own, patched *corev1.Container) diag.List {
	if slices.Equal(own.Args, patched.Args) {
		return nil
	}
	words := strings.FieldsFunc(strings.Join(slices.Concat(patched.Command, patched.Args), " "), isBetweenWords)
	var missing []string
	for _, arg := range own.Args {
		if !a.has(words, arg) {
			missing = append(missing, arg)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	severity := diag.Error
	if len(patched.Command) > 0 {
		severity = diag.Warning
	}
	all, err := json.Marshal(own.Args)
	if err != nil { // unreachable: a list of strings can be encoded
		return nil
	}
	hint := fmt.Sprintf("begin args with all of these: %s", all)
	if own.Name == a.runtime().Container {
		hint = "leave args out and use the fields of the GrafanaAgent, such as spec.logLevel, or " + hint
	}
	message := fmt.Sprintf("replaces all arguments of the container %s but lacks %s: its pods would not work",
		own.Name, strings.Join(missing, " "))
	return diag.List{{Severity: severity, Code: diag.MissingArguments, Path: path + ".args", Message: message,
		Hint: hint}}
}

// isBetweenWords reports whether a character separates arguments, or words in the text of a shell's -c.
func isBetweenWords(r rune) bool { return strings.ContainsRune(" \t\n\"'", r) }

// has reports whether words contain an argument of a container, or the same flag with another value where any value
// will do.
func (a grafanaAgent) has(words []string, arg string) bool {
	name, value := flag(arg)
	mayLack, isFree := a.runtime().FreeArgs(a.spec)[name]
	if name == "" || mayLack {
		return mayLack || slices.Contains(words, arg)
	}
	for i, w := range words {
		other, given := flag(w)
		if given == "" && i+1 < len(words) {
			given = words[i+1]
		}
		switch {
		case other != name:
		case isFree, value == "", value == "true" && given != "false", isSame(value, given):
			return true
		}
	}
	return false
}

// flag returns the name and value of an argument with one or two dashes. Any other argument has no name.
func flag(arg string) (name, value string) {
	trimmed := strings.TrimLeft(arg, "-")
	if trimmed == arg {
		return "", ""
	}
	name, value, _ = strings.Cut(trimmed, "=")
	return name, value
}

// isSame reports whether a given value works like our own: of two addresses only the ports are compared, and a list
// may have additional items.
func isSame(own, given string) bool {
	port := func(s string) string { return s[strings.LastIndexByte(s, ':')+1:] }
	return port(own) == port(given) || slices.Contains(strings.Split(given, ","), own)
}
