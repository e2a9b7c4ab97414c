package stages

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// zones are the names of the IANA time zones, one per line, that Go and the agent include.
//
//go:embed zones.txt
var zones string

// formats are the names of formats. Everything else is a layout of Go's.
func formats() []string {
	return []string{
		"ANSIC", "UnixDate", "RubyDate", "RFC822", "RFC822Z", "RFC850", "RFC1123", "RFC1123Z",
		"RFC3339", "RFC3339Nano", "Unix", "UnixMs", "UnixUs", "UnixNs",
	}
}

func timestamp(p *problems, path string, s *model.TimestampStage) {
	p.required(path+".source", s.Source)
	if p.required(path+".format", s.Format) {
		format(p, path+".format", s.Format)
	}
	for i, f := range s.FallbackFormats {
		format(p, fmt.Sprintf("%s.fallbackFormats[%d]", path, i), f)
	}
	if !isZone(s.Location) {
		p.add(diag.Error, diag.InvalidStage, path+".location", diag.DidYouMean(s.Location, strings.Fields(zones)),
			"%q is not a time zone, like Europe/Berlin", s.Location)
	}
	actions := []string{"skip", "fudge"}
	if s.ActionOnFailure != "" && !slices.Contains(actions, s.ActionOnFailure) {
		p.add(diag.Error, diag.InvalidStage, path+".actionOnFailure", diag.DidYouMean(s.ActionOnFailure, actions),
			"must be skip or fudge, is %q", s.ActionOnFailure)
	}
}

// format warns about a layout that is a misspelled name of a format, or that has no part of Go's reference time: it
// matches no time.
func format(p *problems, path, format string) {
	names := formats()
	if slices.Contains(names, format) {
		return
	}
	for _, name := range names {
		if strings.EqualFold(format, name) {
			p.add(diag.Warning, diag.StageIgnored, path, "did you mean "+name+"?",
				"%q is not the name of a format, and no time is read by it as a layout", format)
			return
		}
	}
	// Formatting this time changes every part of the reference time, Mon Jan 2 15:04:05.000 MST 2006.
	other := time.Date(2019, time.November, 28, 17, 46, 39, 123456789, time.FixedZone("XYZ", 9*60*60+30*60))
	if other.Format(format) == format {
		p.add(diag.Warning, diag.StageIgnored, path, diag.DidYouMean(format, names),
			"%q has no part of Go's reference time (2006-01-02 15:04:05): no time is read by it", format)
	}
}

func isZone(name string) bool {
	return name == "" || name == "Local" ||
		!strings.Contains(name, "\n") && strings.Contains("\n"+zones, "\n"+name+"\n")
}
