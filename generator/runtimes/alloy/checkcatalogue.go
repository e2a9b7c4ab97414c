package alloy

import (
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/catalogue"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// What the catalogue says of settings that are given.

// lacks reports what a component does not have in this version, and what has a way out if a later one has it.
func (f *findings) lacks(at model.Origin, component string, l lack) diag.Diagnostic {
	one := at.Place(diag.NotInRuntime.At("", "Alloy %s has no %s in %s", f.version, l.words(), component))
	one.Hint = "leave it out"
	if l.since != "" {
		one.Message, one.Hint = f.tooOld(l.words()+" in "+component, l.since), orLater(l.since)+", or leave it out"
	}
	return one
}

const (
	scrapeComponent = "prometheus.scrape"
	writeComponent  = "prometheus.remote_write"
)

// argumentOf returns the argument of prometheus.scrape for a setting of a job.
func argumentOf(setting string) string {
	if setting == "fallback_scrape_protocol" {
		return "scrape_fallback_protocol"
	}
	return setting
}

// settings reports the limits, switches and formats of a job that only later versions have, and those that Alloy
// refuses together. No version has keep_dropped_targets, which only a page of Prometheus shows.
func (f *findings) settings(job *model.ScrapeConfig) {
	known := catalogue.Get(scrapeComponent).Fields
	for s := range job.Settings {
		name := argumentOf(s.Name)
		if since := known[name].Since; !f.version.Has(since) {
			f.Add(f.lacks(s.Origin, scrapeComponent, lack{path: name, since: since}))
			continue
		}
		switch of := &job.Formats; {
		case (name == "scrape_protocols" && slices.Contains(of.Protocols, text1) ||
			name == "scrape_fallback_protocol" && of.Fallback == text1) && !f.version.Has(prometheus3):
			one := s.Origin.Place(diag.NotInRuntime.At("", "%s", f.tooOld(text1, prometheus3)))
			one.Hint = orLater(prometheus3) + ", or leave " + text1 + " out"
			f.Add(one)
		case name == model.NativeHistograms.Name() && !asksForNative(job):
			one := s.Origin.Place(diag.RuntimeDiffers.At("", "%s", "is not rendered: scrapeProtocols lacks "+protobuf+
				", the only format with native histograms, and Alloy refuses one without the other"))
			one.Hint = "add " + protobuf + " to scrapeProtocols, as its first"
			f.Add(one)
		case name == "metric_name_escaping_scheme" && of.NameEscaping == "allow-utf-8" && of.NameValidation != "utf8":
			one := s.Origin.Place(diag.NotInRuntime.At("",
				"needs nameValidationScheme: UTF8: Alloy refuses one without the other"))
			one.Hint = "write nameValidationScheme: UTF8"
			f.Add(one)
		}
	}
}

// sent warns of native histograms that are scraped and never sent: the same metrics are not scraped as classic ones
// then.
func (f *findings) sent(g *model.Global, i *model.Instance, job *model.ScrapeConfig) {
	for s := range job.Settings {
		isNative := s.Name == model.NativeHistograms.Name() && asksForNative(job) ||
			s.Name == model.ConvertClassicHistograms.Name()
		if !isNative || slices.ContainsFunc(writers(g, i), sendsNative) {
			continue
		}
		one := s.Origin.Place(diag.RuntimeDiffers.At("", "%s",
			"makes native histograms, which no remote write of "+i.Origin.Object.String()+" sends: they are lost").
			With(i.Origin.Object))
		one.Hint = "write sendNativeHistograms: true to its remoteWrite"
		f.Add(one)
	}
}

func sendsNative(w model.RemoteWrite) bool {
	return w.SendNativeHistograms != nil && *w.SendNativeHistograms
}

// fieldsOfWriters are the fields of a remote write by the arguments of an endpoint, where their names differ by more
// than form.
var fieldsOfWriters = map[string]string{
	"protobuf_message": "messageVersion", "round_robin_dns": "roundRobinDNS", "azuread.scope": "azureAd.scope",
	"azuread.workload_identity": "azureAd.workloadIdentity", "sigv4.external_id": "sigv4.externalId",
	"sigv4.use_fips_sts_endpoint": "sigv4.useFIPSSTSEndpoint",
}

// uuid is how Alloy wants the tenant of a workload identity.
var uuid = lazyregexp.New(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// writer reports settings of a remote write that only later versions have, or that need something else.
func (f *findings) writer(w *model.RemoteWrite) {
	const path = "endpoint."
	shown := (&file{values: values{redact: true}}).endpoint(w)
	for _, l := range lacking(catalogue.Get(writeComponent), f.version, path, &shown) {
		at := w.Origin
		l.path = strings.TrimPrefix(l.path, path)
		if field := fieldsOfWriters[l.path]; field != "" {
			at.Path += "." + field
		}
		f.Add(f.lacks(at, writeComponent, l))
	}
	if w.Message == model.WriteV2 {
		f.Add(w.Origin.Place(diag.RuntimeDiffers.At(".messageVersion", "%s",
			"is experimental in Alloy: the pods run with "+experimental).As(diag.Info)))
	}
	a := w.AzureAD
	if a == nil {
		return
	}
	if a.ManagedIdentity == model.Present("") {
		f.Add(w.Origin.Place(diag.NotInRuntime.At(".azureAd.managedIdentity.clientId", "%s",
			"is missing: Alloy "+f.version.String()+" does not have the identity that the system has assigned")))
	}
	if k := a.WorkloadIdentity; k != nil && !k.TenantID.Text().Variables && !uuid.MatchString(string(k.TenantID)) {
		f.Add(w.Origin.Place(diag.NotInRuntime.At(".azureAd.workloadIdentity.tenantId",
			"must be a UUID for Alloy, like 11111111-2222-4333-8444-555555555555")))
	}
}

// discoveries reports settings of service discoveries that their components do not have.
func (f *findings) discoveries(job *model.ScrapeConfig) {
	for i := range job.Discoveries {
		d := &job.Discoveries[i]
		at := job.Origin
		if d.Path != "" {
			at.Path = d.Path
		}
		if d.Mechanism == static {
			continue
		}
		f.client(at, &d.HTTPClient)
		f.needsOfDiscovery(at, d)
		name := "discovery." + d.Mechanism
		shown := (&file{values: values{redact: true}}).component(d)
		lacks := lacking(catalogue.Get(name), f.version, "", &shown)
		if d.Mechanism == "openstack" && d.Settings.Get("role") == model.String("loadbalancer") {
			lacks = append(lacks, lack{path: "role.loadbalancer"})
		}
		for _, l := range lacks {
			at, field := at, discoveryField(l.path)
			if d.Path != "" {
				at.Path += "." + field
			}
			one := f.lacks(at, name, l)
			if other := instead[field]; other != "" {
				one.Hint = other
			}
			one.Line = d.Line
			f.Add(one)
		}
	}
}

// instead are the ways out for fields that cannot be left out.
var instead = map[string]string{"authenticationMethod": "write OAuth or ManagedIdentity, with what it needs",
	"role": "write Instance or Hypervisor"}

// discoveryField returns the field of a service discovery for the path of an argument.
func discoveryField(argument string) string {
	switch name, _, _ := strings.Cut(argument, "."); name {
	case azureSDK, azureWorkload:
		return "authenticationMethod"
	default:
		return model.FieldName(name)
	}
}
