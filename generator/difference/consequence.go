package difference

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/workload"
)

// Kind is a kind of consequence.
type Kind string

// The kinds of consequences, the gravest first.
const (
	Refused        Kind = "refused"
	SecretsNeeded  Kind = "secrets-needed"
	PodsRestart    Kind = "pods-restart"
	PodsStop       Kind = "pods-stop"
	SecretsStale   Kind = "secrets-stale"
	PodsReload     Kind = "pods-reload"
	DataLeft       Kind = "data-left"
	SendingStops   Kind = "sending-stops"
	SeriesEnd      Kind = "series-end"
	SeriesIdentity Kind = "series-identity"
	SeriesFilter   Kind = "series-filter"
	Targets        Kind = "targets"
	JobsDiffer     Kind = "jobs-differ"
	LogsEnd        Kind = "logs-end"
	LogsIdentity   Kind = "logs-identity"
	LogsFilter     Kind = "logs-filter"
	PodsStart      Kind = "pods-start"
	PodsScale      Kind = "pods-scale"
	SendingStarts  Kind = "sending-starts"
	SeriesBegin    Kind = "series-begin"
	LogsBegin      Kind = "logs-begin"
	OwnMetrics     Kind = "own-metrics"
	TargetsSame    Kind = "targets-same"
)

// kinds returns all kinds in their order, with their descriptions.
func kinds() [][2]string {
	return [][2]string{
		{string(Refused), "Kubernetes refuses the change of a field on an existing object"},
		{string(SecretsNeeded), "newly needed in the cluster"},
		{string(PodsRestart), "pods restart"},
		{string(PodsStop), "pods stop"},
		{string(SecretsStale), "pods keep the old secrets until they restart, because only secrets change in " +
			"their configuration"},
		{string(PodsReload), "pods reload their configuration, without a restart"},
		{string(DataLeft), "the new program does not take over"},
		{string(SendingStops), "stops sending"},
		{string(SeriesEnd), "series end"},
		{string(SeriesIdentity), "series change their identity"},
		{string(SeriesFilter), "different series are kept"},
		{string(Targets), "different targets are scraped, or the same ones differently"},
		{string(JobsDiffer), "the new program runs jobs with other settings"},
		{string(LogsEnd), "logs end"},
		{string(LogsIdentity), "log streams change their identity"},
		{string(LogsFilter), "log lines are processed differently"},
		{string(PodsStart), "pods start"},
		{string(PodsScale), "the number of pods changes"},
		{string(SendingStarts), "starts sending"},
		{string(SeriesBegin), "series begin"},
		{string(LogsBegin), "logs begin"},
		{string(OwnMetrics), "the program's own metrics get other names"},
		{string(TargetsSame), "the same targets are found, by equal discoveries and rules"},
	}
}

func (k Kind) rank() int {
	return slices.IndexFunc(kinds(), func(known [2]string) bool { return known[0] == string(k) })
}

// Description returns the meaning of a kind of consequence.
func (k Kind) Description() string { return kinds()[k.rank()][1] }

// Consequence is an effect of applying a change.
type Consequence struct {
	Kind Kind   `json:"kind"`
	Unit string `json:"unit"`
	// Subject is the affected workload, instance or job, as people read it.
	Subject string `json:"subject"`
	// Workload is the affected workload; it is empty if something else is affected.
	Workload manifest.ID `json:"-"`
	// What is a detail, such as a field, a job, an address or a label. It may be empty.
	What string `json:"what,omitempty"`

	more int // how many others of its kind and subject are left out: see [Brief]
}

// brief returns the consequences of a unit without those that a text only counts.
func brief(all []Consequence) (out []Consequence) {
	type list struct {
		kind    Kind
		subject string
	}
	places := map[list][]int{}
	for _, c := range all {
		l := list{c.Kind, c.Subject}
		if known := places[l]; len(known) > maxNames {
			out[known[maxNames]].more++
			continue
		}
		places[l] = append(places[l], len(out))
		out = append(out, c)
	}
	return slices.Clone(out) // without spare room
}

// find adds a consequence for an instance or job.
func (u *unit) find(kind Kind, subject, what string) {
	u.add(Consequence{Kind: kind, Unit: u.name, Subject: subject, What: what})
}

// findPods adds a consequence for the pods of a workload.
func (u *unit) findPods(kind Kind, workload manifest.ID, what string) {
	u.add(Consequence{Kind: kind, Unit: u.name, Subject: subjectOf(workload), Workload: workload, What: what})
}

// subjectOf returns how consequences name an object.
func subjectOf(id manifest.ID) string { return id.Kind + " " + id.Namespace + "/" + id.Name }

// add adds a consequence, unless it is already there.
func (u *unit) add(c Consequence) {
	if u.known == nil {
		u.known = map[Consequence]bool{}
	}
	if !u.known[c] {
		u.known[c] = true
		u.found = append(u.found, c)
	}
}

// consequences returns the consequences of the changes in the unit's objects.
func (u *unit) consequences() []Consequence {
	if !slices.ContainsFunc(u.objects, func(o *object) bool { return len(o.changes) > 0 }) {
		return nil
	}
	for _, o := range u.objects {
		if workload.IsWorkload(o.ID.Kind) {
			u.pods(o)
		}
	}
	u.secretsNeeded()
	u.configurations()
	return u.found
}

// pods adds the consequences for the pods of a workload.
func (u *unit) pods(o *object) {
	switch {
	case o.After.Text == nil:
		u.findPods(PodsStop, o.ID, "")
		return
	case o.Before.Text == nil:
		u.findPods(PodsStart, o.ID, "")
		return
	}
	if field := workload.ImmutableChange(o.resource(0), o.resource(1)); field != "" {
		u.findPods(Refused, o.ID, field)
		return
	}
	var reasons []string
	for _, c := range o.changes {
		switch text := c.Path.String(); {
		case strings.HasPrefix(text, "spec.template"):
			reasons = append(reasons, c.Path[2:].words())
		case text == "spec.replicas":
			u.findPods(PodsScale, o.ID, fmt.Sprintf("from %s to %s", o.replicas(o.before), o.replicas(o.after)))
		}
	}
	if len(reasons) > 0 {
		for _, reason := range slices.Compact(reasons) {
			u.findPods(PodsRestart, o.ID, reason)
		}
		return
	}
	if secret := u.configOf(o); secret != nil {
		kind := PodsReload
		if secret.OnlySecrets {
			kind = SecretsStale
		}
		u.findPods(kind, o.ID, "")
	}
}

// replicas returns the number of a workload's pods.
func (o *object) replicas(n *node) string {
	if text := n.str("spec", "replicas"); text != "" {
		return text
	}
	return "1" // Kubernetes' default
}

// configOf returns the Secret with a workload's configuration, if the configuration changes.
func (u *unit) configOf(o *object) *object {
	for _, secret := range u.objects {
		if (secret.changesConfiguration() || secret.IsEncrypted) && workload.ConfigSecret(o.pods(1)) == secret.ID.Name {
			return secret
		}
	}
	return nil
}

// NewPrograms returns the units whose configurations another program runs.
func (d *Difference) NewPrograms() map[string]bool {
	units := map[string]bool{}
	for _, c := range d.Consequences {
		if c.Kind == OwnMetrics {
			units[c.Unit] = true
		}
	}
	return units
}

// changesConfiguration reports whether the configuration in a Secret changes.
func (o *object) changesConfiguration() bool {
	return o.isConfiguration() && slices.ContainsFunc(o.changes, func(c Change) bool {
		return len(c.Path) == 0 || isConfiguration(c.Path[0].Field)
	})
}
