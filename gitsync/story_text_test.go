package gitsync_test

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/gitsync"
)

// reportText is what programs and pages show of a pass.
func reportText(r *gitsync.Report) string {
	var b strings.Builder
	line := func(indent, label string, parts ...string) {
		if text := strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", "); text != "" {
			fmt.Fprintf(&b, "%s%s: %s\n", indent, label, text)
		}
	}
	ready := r.Ready()
	message, _, _ := strings.Cut(ready.Message, "; first: ")
	line("", "ready", string(ready.Status), message)
	if r.Refused != nil {
		line("", "refused", string(r.Refused.Code))
	}
	for _, source := range r.Sources {
		if source.Stale {
			line("", "stale", source.URL, source.Commit)
		}
	}
	for _, u := range r.Units {
		line("", "unit "+u.Name, string(u.State), u.Reason, u.Lost)
	}
	for _, h := range r.Held {
		line("", string(h.State)+" "+h.String(), "in "+cmp.Or(strings.Join(h.Units, " "), "no unit"),
			"since "+h.Since.Commit, "as of "+cmp.Or(h.As.Commit, "no commit"))
		line("\t", "waiting", h.Waiting...)
	}
	for _, d := range r.Diags {
		fmt.Fprintln(&b, d)
		line("\t", "hint", d.Hint)
		line("\t", "source", d.Source)
		line("\t", "built by", d.BuiltBy)
		if d.Changed != nil {
			line("\t", "changed", append([]string{d.Changed.Commit}, d.Owners...)...)
		}
	}
	return b.String()
}

// changesText lists the files that differ between two versions of the output branch by folder, and the lines of those
// that are applied or built.
func changesText(before, after tree) string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(after))
	slices.Sort(names)
	var b strings.Builder
	last := "" // folder
	for _, name := range slices.Compact(names) {
		old, had := before[name]
		now, has := after[name]
		change := "changed"
		switch {
		case old == now:
			continue
		case !has:
			change = "removed"
		case !had:
			change = "added"
		case filepath.Ext(name) == ".yaml":
			fmt.Fprintf(&b, "\nchanged %s\n%s", name, changedLines(old.text, now.text))
			last = ""
			continue
		}
		folder, file := ".", name
		if parts := strings.SplitN(name, "/", 3); len(parts) == 3 {
			folder, file = path.Join(parts[0], parts[1]), parts[2]
		}
		if folder = change + " in " + folder + ":"; folder != last {
			fmt.Fprintf(&b, "\n%s", folder)
			last = folder
		}
		b.WriteString(" " + file)
	}
	return strings.TrimPrefix(strings.ReplaceAll(b.String()+"\n", "\n\n", "\n"), "\n")
}

// changedLines are the lines that one version has more often than the other.
func changedLines(old, now string) string {
	return more("-", old, now) + more("+", now, old)
}

func more(sign, text, than string) string {
	const shown = 8
	var out []string
	count := map[string]int{}
	for line := range strings.Lines(than) {
		count[line]++
	}
	for line := range strings.Lines(text) {
		if count[line]--; count[line] < 0 {
			out = append(out, "\t"+sign+strings.TrimSuffix(line, "\n")+"\n")
		}
	}
	if n := len(out); n > shown {
		out = append(out[:shown], fmt.Sprintf("\t%s and %d more lines\n", sign, n-shown))
	}
	return strings.Join(out, "")
}
