package forge

import (
	"context"
	"net/http"
	"strings"
	"unicode/utf8"
)

// comment is a comment of a pull request.
type comment struct {
	id   int64
	text string
}

// knownComment identifies a comment of agentry.
type knownComment struct {
	number int
	marker string
}

// maxKnown limits the comments whose ids are remembered. Others are searched.
const maxKnown = 10000

// Comment implements Forge. A comment with the marker that may not be edited is somebody else's; the next one is then
// edited, or a new one is written.
func (r *repository) Comment(ctx context.Context, number int, c Comment) error {
	text := Truncate(c.Marker+"\n"+c.Text, r.limits().text)
	key := knownComment{number, c.Marker}
	r.mu.Lock()
	id, known := r.known[key]
	r.mu.Unlock()
	if known {
		edited, err := r.edit(ctx, number, id, text)
		if edited || err != nil {
			return err
		}
		r.remember(key, 0)
	}
	ours, err := r.marked(ctx, number, c.Marker)
	if err != nil {
		return err
	}
	for _, old := range ours {
		if old.text == text {
			r.remember(key, old.id)
			return nil
		}
		edited, err := r.edit(ctx, number, old.id, text)
		if err != nil {
			return err
		}
		if edited {
			r.remember(key, old.id)
			return nil
		}
	}
	if c.OnlyUpdate {
		return nil
	}
	return r.call(ctx, "comment on a pull request", func(ctx context.Context) error {
		id, err := r.addComment(ctx, number, text)
		if err == nil {
			r.remember(key, id)
		}
		return err
	})
}

// edit edits a comment. It returns false if the comment is gone or may not be edited.
func (r *repository) edit(ctx context.Context, number int, id int64, text string) (bool, error) {
	err := r.call(ctx, "update a comment", func(ctx context.Context) error {
		return r.editComment(ctx, number, id, text)
	})
	if hasStatus(err, http.StatusNotFound, http.StatusForbidden, http.StatusGone) {
		return false, nil
	}
	return err == nil, err
}

// remember remembers the id of a comment, or with 0 forgets it.
func (r *repository) remember(key knownComment, id int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, key)
	if id == 0 {
		return
	}
	if len(r.known) >= maxKnown {
		clear(r.known)
	}
	r.known[key] = id
}

// marked returns the comments that begin with the marker, oldest first.
func (r *repository) marked(ctx context.Context, number int, marker string) ([]comment, error) {
	var out []comment
	for page := 1; (page-1)*perPage < MaxComments; page++ {
		var list []comment
		var more bool
		err := r.call(ctx, "list comments", func(ctx context.Context) (err error) {
			list, more, err = r.comments(ctx, number, page)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			if strings.HasPrefix(strings.TrimSpace(c.text), marker) {
				c.text = strings.ReplaceAll(c.text, "\r\n", "\n")
				out = append(out, c)
			}
		}
		if !more {
			break
		}
	}
	return out, nil
}

// cutNote is appended to truncated texts.
const cutNote = "\n\n_The rest is cut: it is longer than the site allows._\n"

// Truncate returns the first lines of Markdown within limit bytes. If it cuts anything, it closes an open code block
// and appends a note.
func Truncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	fence := "\n" + strings.Repeat("`", max(3, longestRun(text, '`')))
	cut := limit - len(cutNote) - len(fence)
	if cut <= 0 {
		return ""
	}
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	kept := text[:cut]
	if end := strings.LastIndexByte(kept, '\n'); end > 0 {
		kept = kept[:end]
	}
	open := "" // the fence of the open block
	for line := range strings.Lines(kept) {
		mark := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case open == "" && len(mark) >= 3:
			open = "\n" + mark
		case open != "" && len(mark) >= len(open)-1 && strings.Trim(line, "`\n") == "":
			open = ""
		}
	}
	return kept + open + cutNote
}
