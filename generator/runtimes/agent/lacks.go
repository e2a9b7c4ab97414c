package agent

import (
	"fmt"
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// lack is a setting, or a value of a setting, that came with a newer Prometheus than the agent's.
type lack struct {
	// since is the first Prometheus that has it.
	since string
	// why names the harm of leaving out the setting. It is empty for a setting that only tunes, which is left out.
	why string
	// only are the values that are lacking. Nil means all but those in silent.
	only []model.Value
	// silent are the values that say what the agent does anyway.
	silent []model.Value
}

// concerns reports whether the agent lacks a value.
func (l *lack) concerns(v model.Value) bool {
	if l.only != nil {
		return slices.Contains(l.only, v)
	}
	return !slices.Contains(l.silent, v)
}

// lacksOfJobs are the settings of jobs that the agent does not have, by Prometheus's names.
var lacksOfJobs = map[string]lack{
	"scrape_protocols":                   {since: "2.49.0"},
	"fallback_scrape_protocol":           {since: "3.0.0"},
	"scrape_native_histograms":           {since: "3.8.0"},
	"native_histogram_min_bucket_factor": {since: "2.50.0"},
	"convert_classic_histograms_to_nhcb": {since: "3.0.0"},
	"enable_compression":                 {since: "2.49.0"},
	"metric_name_validation_scheme":      {since: "2.55.0"},
	"metric_name_escaping_scheme":        {since: "3.4.0"},
}

// lacksOfDiscoveries are the settings of service discoveries that the agent does not have, by mechanism and
// Prometheus's names.
var lacksOfDiscoveries = map[string]map[string][]lack{
	"consul": {
		"filter":        {{since: "3.0.0", why: "every service would be found"}},
		"health_filter": {{since: "3.11.2", why: "every service would be found"}},
	},
	"dns": {"type": {{since: "2.49.0", why: "the agent would ask for SRV records",
		only: []model.Value{model.String("NS")}}}},
	"azure": {"authentication_method": {
		{since: "2.52.0", why: "the agent would use OAuth, which needs other settings",
			only: []model.Value{model.String("SDK")}},
		{since: "3.11.0", why: "the agent would use OAuth, which needs other settings",
			only: []model.Value{model.String("WorkloadIdentity")}},
	}},
	"openstack": {"role": {{since: "3.2.0", why: "nothing would be found",
		only: []model.Value{model.String("loadbalancer")}}}},
	"hetzner": {"label_selector": {{since: "3.5.0", why: "every server would be found"}}},
	"linode":  {"region": {{since: "2.52.0", why: "instances of all regions would be found"}}},
	"docker": {"match_first_network": {{since: "2.54.0", why: "targets of all networks are found",
		silent: []model.Value{model.Bool(false)}}}},
	"kuma": {"client_id": {{since: "2.50.0", why: "other targets would be found"}}},
}

// known returns the settings of a service discovery that the agent has.
func known(d *model.Discovery) model.Map {
	lacks := lacksOfDiscoveries[d.Mechanism]
	if lacks == nil {
		return d.Settings
	}
	return slices.DeleteFunc(slices.Clone(d.Settings), func(p model.Pair) bool {
		return slices.ContainsFunc(lacks[p.Key], func(l lack) bool { return l.only == nil })
	})
}

// lacking collects findings about settings that the agent does not have, each once: jobs of one object share most of
// theirs.
type lacking struct {
	found *diag.List
	seen  map[model.Origin]bool
}

func (f *lacking) add(at model.Origin, l lack) {
	if f.seen[at] {
		return
	}
	f.seen[at] = true
	none := fmt.Sprintf("no Grafana Agent has it: it came with Prometheus %s, and the agent's is 2.48.1", l.since)
	if l.why == "" {
		f.found.Add(at.Place(diag.NotRendered.At("", "%s", "is not rendered: "+none)))
	} else {
		f.found.Add(at.Place(diag.NeedsNewerPrometheus.At("", "%s", none+"; without it "+l.why)))
	}
}

// job reports the settings of a job and of its service discoveries.
func (f *lacking) job(job *model.ScrapeConfig) {
	for s := range job.Settings {
		if l := lacksOfJobs[s.Name]; l.since != "" {
			f.add(s.Origin, l)
		}
	}
	for i := range job.Discoveries {
		d := &job.Discoveries[i]
		for _, p := range d.Settings {
			for _, l := range lacksOfDiscoveries[d.Mechanism][p.Key] {
				if l.concerns(p.Value) {
					f.add(model.Origin{Object: job.Origin.Object, Path: d.Path + "." + model.FieldName(p.Key)}, l)
				}
			}
		}
	}
}

// writers reports the settings of remote writes, and returns them without these.
func (f *lacking) writers(list []model.RemoteWrite) []model.RemoteWrite {
	out := slices.Clone(list)
	for i := range out {
		w := &out[i]
		lacks := func(field string, l lack) {
			f.add(model.Origin{Object: w.Origin.Object, Path: w.Origin.Path + field}, l)
		}
		if w.Message != "" {
			lacks(".messageVersion", lack{since: "2.54.0"})
			w.Message = ""
		}
		if w.RoundRobinDNS {
			lacks(".roundRobinDNS", lack{since: "3.1.0"})
			w.RoundRobinDNS = false
		}
		if s := w.SigV4; s != nil {
			if s.ExternalID != "" {
				lacks(".sigv4.externalId", lack{since: "3.11.0", why: "samples would be sent with other credentials"})
			}
			if s.FIPS {
				lacks(".sigv4.useFIPSSTSEndpoint", lack{since: "2.54.0"})
			}
			without := *s
			without.ExternalID, without.FIPS = "", false
			w.SigV4 = &without
		}
		if a := w.AzureAD; a != nil {
			const none = "samples would be sent without credentials"
			if a.ManagedIdentity == model.Present("") {
				f.found.Add(w.Origin.Place(diag.NeedsNewerPrometheus.At(".azureAd.managedIdentity.clientId",
					"is missing, and every Grafana Agent needs it: the system-assigned identity came with Prometheus "+
						"3.5.0, and the agent has 2.48.1")))
			}
			if a.SDK != nil {
				lacks(".azureAd.sdk", lack{since: "2.52.0", why: none})
			}
			if a.WorkloadIdentity != nil {
				lacks(".azureAd.workloadIdentity", lack{since: "3.7.0", why: none})
			}
			if a.Scope != "" {
				lacks(".azureAd.scope", lack{since: "3.9.0", why: "samples would be sent with other credentials"})
			}
			w.AzureAD = &model.AzureAD{Cloud: a.Cloud, ManagedIdentity: a.ManagedIdentity, OAuth: a.OAuth}
		}
	}
	return out
}
