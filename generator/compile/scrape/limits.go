package scrape

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// limits sets the limits of a job by the rule of today's Prometheus Operator: the lower one of the monitor's and the
// enforced one. Where the monitor has none, the global limits hold, which the enforced ones are part of.
func (j *currentJob) limits(own model.Counts, bodySize *monitoringv1.ByteSize) {
	j.config.BodySize = j.bodySize(bodySize)
	for c, enforced := range j.current.prometheus.Enforced.Counts {
		j.config.Counts[c] = lower(own[c], enforced)
	}
}

// lower returns the limit of a job. Zero means no limit.
func lower(own, enforced *int64) *int64 {
	switch {
	case enforced == nil || *enforced == 0:
		return own
	case own == nil || *own == 0:
		return nil
	case *enforced < *own:
		return enforced
	}
	return own
}

// bodySize returns the limit of an answer's size. Unlike other enforced limits, this one applies to every job without a
// limit of its own.
func (j *currentJob) bodySize(own *monitoringv1.ByteSize) string {
	enforced := j.current.prometheus.Enforced.BodySize
	if own == nil || *own == "" {
		return enforced
	}
	bytes, ok := sizeOf(string(*own))
	if !ok {
		j.found.Add(diag.InvalidSetting.At("spec.bodySizeLimit", "%q is not a size below 8EiB, like 512KB or 10MB",
			*own))
	}
	if most, limited := sizeOf(enforced); limited && bytes > most {
		return enforced
	}
	return string(*own)
}

// GlobalLimits returns the limits of jobs that have none: the GrafanaAgent's defaults, lowered to what it enforces.
func GlobalLimits(standard, enforced model.Limits) model.Limits {
	one := func(standard, enforced *int64) *int64 {
		switch {
		case standard == nil || *standard <= 0:
			standard = enforced
		case enforced != nil && *enforced > 0:
			standard = lower(standard, enforced)
		}
		if standard == nil || *standard <= 0 {
			return nil
		}
		return standard
	}
	out := model.Limits{BodySize: cmp.Or(standard.BodySize, enforced.BodySize)}
	for c := range out.Counts {
		out.Counts[c] = one(standard.Counts[c], enforced.Counts[c])
	}
	return out
}

var sizeForm = lazyregexp.New(`^((?:[0-9]*\.)?[0-9]+)([KMGTPE]?)i?B$`)

// ValidSize reports whether the agent accepts a size.
func ValidSize(s string) bool {
	_, ok := sizeOf(s)
	return ok
}

// sizeOf returns a size in bytes, and whether the agent accepts it: a number with a unit, below 8 EiB. Units are powers
// of 1024, with and without the i.
func sizeOf(s string) (bytes float64, ok bool) {
	if s == "0" {
		return 0, true
	}
	m := sizeForm.FindStringSubmatch(s)
	if m == nil || strings.HasSuffix(s, "iB") && m[2] == "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	power := strings.Index(" KMGTPE", m[2])
	if m[2] == "" {
		power = 0
	}
	n *= math.Pow(1024, float64(power))
	return n, err == nil && n < math.MaxInt64
}
