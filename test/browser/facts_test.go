package browser

import (
	_ "embed" // what measures a page
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed measure.js
var measure string

// facts are what measure.js finds.
type facts struct {
	Title, Lang, Text, Canvas string
	Viewport, Width, Height   int
	Wide                      []string // elements that stand out to the right
	Tags, Attributes          []string
	Headings                  []int
	LooseHeaders              []string // headers that do not say what of
	Unnamed                   []string // tables without a name
	Good, Bad                 []string // what is coloured so
	Links, Resources          []string
	EmptyLinks                []string
	Scripts                   []string // their addresses; empty for one that stands on the page
	Fields                    int      // that the keyboard reaches
	Unlabelled                []string // fields that do not say what for
	Texts                     []shownText
}

// shownText is what an element says by itself, with its colours.
type shownText struct {
	Text, Colour, Background string
	Opacity, Size            float64
}

const (
	// minContrast is what WCAG 2 asks for (level AA, small text).
	minContrast = 4.5
	// minSize is the smallest text that everybody can read, in pixels.
	minSize = 11
)

// tags and attributes are all that pages are made of; anything else was written by a stranger.
func tags() []string {
	return strings.Fields(
		"html head meta title link script body header nav section main h1 h2 h3 p a br b span small code div table " +
			"caption figure figcaption thead tbody tr th td ul ol li dl dt dd time form label input button pre svg g path text")
}

func attributes() []string {
	return strings.Fields(
		"lang charset name content rel href class scope colspan data-label aria-label aria-labelledby id datetime " +
			"type action method role for value maxlength src defer autocomplete placeholder aria-current aria-hidden " +
			"aria-sort tabindex title xmlns width height viewBox d x y")
}

// complaints are what somebody would object to.
func (f facts) complaints() []string {
	var out []string
	object := func(ok bool, format string, args ...any) {
		if !ok {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	object(f.Title != "", "has no title")
	object(f.Lang == "en", "is in the language %q", f.Lang)
	object(f.Width <= f.Viewport, "is %d wide in a window of %d: %q", f.Width, f.Viewport, f.Wide)
	for _, tag := range f.Tags {
		object(slices.Contains(tags(), tag), "has an element %s", tag)
	}
	for _, name := range f.Attributes {
		object(slices.Contains(attributes(), name), "has an attribute %s", name)
	}
	object(len(f.Headings) > 0 && f.Headings[0] == 1 && !slices.Contains(f.Headings[1:], 1), "has the headings %v",
		f.Headings)
	for i := range max(0, len(f.Headings)-1) {
		object(f.Headings[i+1] <= f.Headings[i]+1, "has the headings %v", f.Headings)
	}
	for _, address := range f.Scripts {
		object(strings.HasSuffix(address, "/console.js"), "has a script that is not ours: %q", address)
	}
	object(len(f.LooseHeaders) == 0, "has headers that do not say of what: %q", f.LooseHeaders)
	object(len(f.Unnamed) == 0, "has tables without a name: %q", f.Unnamed)
	for _, text := range f.Bad {
		object(!soundsGood.MatchString(text), "shows %q in the colour of what is bad", text)
	}
	for _, text := range f.Good {
		object(soundsGood.MatchString(text), "shows %q in the colour of what is good, and does not say so", text)
	}
	object(len(f.Unlabelled) == 0, "has fields that do not say what for: %q", f.Unlabelled)
	object(len(f.EmptyLinks) == 0, "has links without words: %q", f.EmptyLinks)
	for _, text := range f.Texts {
		ratio := contrast(text)
		object(ratio >= minContrast, "shows %q with a contrast of %.1f: %s on %s", text.Text, ratio, text.Colour,
			text.Background)
		object(text.Size >= minSize, "shows %q in %.1f px", text.Text, text.Size)
	}
	return out
}

// soundsGood matches what tells those who see no colours that nobody needs to look.
var soundsGood = regexp.MustCompile(`^(good|Ready|Succeeded|rendered|used)|nothing wrong$`)

// contrast is the ratio of WCAG 2 between a text and what is behind it; 0 if a colour cannot be read.
func contrast(t shownText) float64 {
	front, ok1 := channels(t.Colour)
	back, ok2 := channels(t.Background)
	if !ok1 || !ok2 {
		return 0
	}
	alpha := t.Opacity * front[3]
	for i := range 3 {
		front[i] = front[i]*alpha + back[i]*(1-alpha)
	}
	a, b := luminance(front), luminance(back)
	return (max(a, b) + 0.05) / (min(a, b) + 0.05)
}

var number = regexp.MustCompile(`[0-9.]+`)

// channels are the red, green, blue and alpha of rgb(1, 2, 3) or rgba(1, 2, 3, 0.4).
func channels(colour string) (out [4]float64, ok bool) {
	if !strings.HasPrefix(colour, "rgb") {
		return out, false
	}
	out[3] = 1
	for i, text := range number.FindAllString(colour, 4) {
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return out, false
		}
		out[i] = value
	}
	return out, true
}

func luminance(c [4]float64) float64 {
	sum := 0.0
	for i, share := range []float64{0.2126, 0.7152, 0.0722} {
		value := c[i] / 255
		if value <= 0.04045 {
			value /= 12.92
		} else {
			value = math.Pow((value+0.055)/1.055, 2.4)
		}
		sum += share * value
	}
	return sum
}
