package model

import "strings"

// Limits are what a target may answer with and a job may have. Absent ones are left out.
type Limits struct {
	BodySize string
	Counts
}

// Counts are the limits that are numbers. Nil is no limit.
type Counts [counts]*int64

// Count is a limit that is a number.
type Count int

// The limits, in the order in which they are printed. To add one, add its name to countNames too.
const (
	Samples Count = iota
	Targets
	Labels
	LabelNameLength
	LabelValueLength
	// KeptDropped is how many targets that relabelling drops are kept for display.
	KeptDropped
	// HistogramBuckets are those of a native histogram.
	HistogramBuckets
	counts
)

// Names are Prometheus's. All runtimes use them.
var countNames = [counts]string{
	"sample_limit", "target_limit", "label_limit", "label_name_length_limit", "label_value_length_limit", "keep_dropped_targets",
	"native_histogram_bucket_limit",
}

// Name returns the name of the limit in a scrape configuration.
func (c Count) Name() string { return countNames[c] }

// Field returns the name of the limit in ServiceMonitors and other objects.
func (c Count) Field() string { return field(c.Name()) }

// Switches are the settings of a scrape that are on or off. Nil is the default.
type Switches [switches]*bool

// Switch is a setting of a scrape that is on or off.
type Switch int

// The switches, in the order in which they are printed. To add one, add its name to switchNames too.
const (
	HonorLabels Switch = iota
	HonorTimestamps
	// TrackStaleness ends series with a timestamp of their own when they are gone.
	TrackStaleness
	// ClassicHistograms and those after it are printed after the limits.
	ClassicHistograms
	switches
)

var switchNames = [switches]string{"honor_labels", "honor_timestamps", "track_timestamps_staleness", "scrape_classic_histograms"}

// Name returns the name of the switch in a scrape configuration.
func (s Switch) Name() string { return switchNames[s] }

// Field returns the name of the switch in ServiceMonitors and other objects.
func (s Switch) Field() string { return field(s.Name()) }

// field returns the name of a setting in custom resources.
func field(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// Default returns what Prometheus does where the switch is not set.
func (s Switch) Default() bool { return s == HonorTimestamps }
