package model

import "strings"

// Limits are the limits of a job's scrapes. Absent limits are left out.
type Limits struct {
	BodySize string
	Counts
}

// Counts are the numeric limits. Nil means no limit.
type Counts [counts]*int64

// Count is a numeric limit.
type Count int

// The limits, in the order in which they are printed. To add one, add its name to countNames too.
const (
	Samples Count = iota
	Targets
	Labels
	LabelNameLength
	LabelValueLength
	// KeptDropped is the number of targets dropped by relabelling that are kept for display.
	KeptDropped
	// HistogramBuckets is the number of buckets of a native histogram.
	HistogramBuckets
	counts
)

// The names are Prometheus's, and all runtimes use them.
var countNames = [counts]string{
	"sample_limit", "target_limit", "label_limit", "label_name_length_limit", "label_value_length_limit",
	"keep_dropped_targets",
	"native_histogram_bucket_limit",
}

// Name returns the name of the limit in a scrape configuration.
func (c Count) Name() string { return countNames[c] }

// Field returns the name of the limit in ServiceMonitors and other objects.
func (c Count) Field() string { return FieldName(c.Name()) }

// Switches are the boolean settings of a scrape. Nil means the default.
type Switches [switches]*bool

// Switch is a boolean setting of a scrape.
type Switch int

// The switches, in the order in which they are printed. To add one, add its name to switchNames too.
const (
	HonorLabels Switch = iota
	HonorTimestamps
	// TrackStaleness makes series with explicit timestamps stale as soon as they disappear.
	TrackStaleness
	// ClassicHistograms and the switches after it are printed after the limits.
	ClassicHistograms
	NativeHistograms
	// ConvertClassicHistograms converts classic histograms to native ones with custom buckets.
	ConvertClassicHistograms
	// Compression asks targets for compressed answers.
	Compression
	switches
)

var switchNames = [switches]string{
	"honor_labels", "honor_timestamps", "track_timestamps_staleness", "scrape_classic_histograms",
	"scrape_native_histograms",
	"convert_classic_histograms_to_nhcb", "enable_compression",
}

// Name returns the name of the switch in a scrape configuration.
func (s Switch) Name() string { return switchNames[s] }

// Field returns the name of the switch in ServiceMonitors and other objects.
func (s Switch) Field() string { return FieldName(s.Name()) }

// FieldName returns the name of a Prometheus setting in custom resources.
func FieldName(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words[1:] {
		switch w {
		case "id", "nhcb":
			words[i+1] = strings.ToUpper(w)
		default:
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

// Default returns Prometheus's default.
func (s Switch) Default() bool { return s == HonorTimestamps || s == Compression }

// perEndpoint reports whether each endpoint of a monitor has the switch.
func (s Switch) perEndpoint() bool { return s <= TrackStaleness }

// Formats has the settings for reading a target's response, in Prometheus's terms. Empty means the default.
type Formats struct {
	// Protocols are the formats that targets are asked for, best first.
	Protocols []string
	// Fallback is the format of a response without a valid Content-Type. If it is a setting of a scrape class,
	// FallbackOrigin is that setting.
	Fallback       string
	FallbackOrigin Origin
	// NameValidation is utf8, and NameEscaping allow-utf-8, underscores, dots or values.
	NameValidation, NameEscaping string
	// MinBucketFactor is the minimum growth factor of the buckets of native histograms.
	MinBucketFactor string
}

// Setting is a setting of a job that its author set to something other than Prometheus's default.
type Setting struct {
	// Name is Prometheus's.
	Name string
	// Origin is the field.
	Origin Origin
}

// Settings yields the limits, switches and formats of a job that differ from Prometheus's defaults.
func (s *ScrapeConfig) Settings(yield func(Setting) bool) {
	at := func(path, field string) Origin { return Origin{Object: s.Origin.Object, Path: path + "." + field} }
	for i, v := range s.Counts {
		if c := Count(i); v != nil && *v != 0 && !yield(Setting{c.Name(), at("spec", c.Field())}) {
			return
		}
	}
	for i, v := range s.Switches {
		sw, path := Switch(i), "spec"
		if sw.perEndpoint() {
			path = s.Origin.Path
		}
		if v != nil && *v != sw.Default() && !yield(Setting{sw.Name(), at(path, sw.Field())}) {
			return
		}
	}
	fallback := s.Formats.FallbackOrigin
	if fallback == (Origin{}) {
		fallback = at("spec", "fallbackScrapeProtocol")
	}
	for _, f := range [...]struct {
		given bool
		Setting
	}{
		{len(s.Formats.Protocols) > 0, Setting{"scrape_protocols", at("spec", "scrapeProtocols")}},
		{s.Formats.Fallback != "", Setting{"fallback_scrape_protocol", fallback}},
		{s.Formats.NameValidation != "", Setting{"metric_name_validation_scheme", at("spec", "nameValidationScheme")}},
		{s.Formats.NameEscaping != "", Setting{"metric_name_escaping_scheme", at("spec", "nameEscapingScheme")}},
		{s.Formats.MinBucketFactor != "",
			Setting{"native_histogram_min_bucket_factor", at("spec", "nativeHistogramMinBucketFactor")}},
	} {
		if f.given && !yield(f.Setting) {
			return
		}
	}
}
