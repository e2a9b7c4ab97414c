package diag

// Codes of IntegrationMonitors and what they scrape, and of monitors in compatibility mode current.
const (
	NotCollected   Code = "not-collected"
	ReservedLabel  Code = "reserved-label"
	IncompleteAuth Code = "incomplete-auth"

	UnknownScrapeClass Code = "unknown-scrape-class"
	InvalidPEM         Code = "invalid-pem"

	DropsEverything  Code = "drops-everything"
	UnknownMetaLabel Code = "unknown-meta-label"
)

// monitorCodes documents what is found in and about IntegrationMonitors, and about monitors in mode current.
func monitorCodes() []CodeInfo {
	return []CodeInfo{
		{NotCollected, "A MetricsIntegration runs, but no IntegrationMonitor scrapes it.",
			"Usually there is a typo in a label or in the monitor's selector, or the monitor selects in its own " +
				"namespace only. Label the MetricsIntegration, or let a monitor of the same GrafanaAgent select it."},
		{ReservedLabel, "A rule of an IntegrationMonitor sets a label whose value is fixed.",
			"The labels job, instance, monitor, metrics_instance and, with scope: all, cluster always say what was " +
				"scraped, and by which monitor. Remove the rule, or let it set another label."},
		{IncompleteAuth, "A part of a credential is missing.",
			"basicAuth needs a username and a password, authorization its credentials (and a type other than Basic), " +
				"oauth2 a client id and a client secret. It is a warning if the request is only sent without an " +
				"Authorization header."},
		{UnknownScrapeClass, "A monitor names a scrape class that its GrafanaAgent does not have.",
			"The monitor is left out, because the class may hold credentials or rules that it needs. Correct " +
				"spec.scrapeClass, or add the class to spec.metrics.scrapeClasses of the GrafanaAgent."},
		{InvalidPEM, "A TLS setting refers to a certificate or a key that no client can use.",
			"The content must be PEM, and a key must be the one of its certificate. It is looked at in compatibility " +
				"mode current under the secrets policy plaintext, if the Secret or ConfigMap is in the inputs."},
		{DropsEverything, "A relabelling rule drops every target or every sample.",
			"A rule without sourceLabels compares its regex with the empty value, and drops all or nothing. So does " +
				"a keep of a label that is never there. Correct sourceLabels and regex; to scrape nothing, remove " +
				"the endpoint."},
		{UnknownMetaLabel, "A relabelling rule reads a `__meta_` label that its targets never have.",
			"Which labels there are depends on how targets are found: a PodMonitor and a PodLogs find pods, a " +
				"ServiceMonitor endpoints with their Services and pods. Labels of nodes need attachMetadata. Samples " +
				"have none of them: copy what you need in the rules for targets."},
	}
}
