package diag

// Codes of IntegrationMonitors and what they scrape, and of monitors in compatibility mode current.
const (
	NotCollected   Code = "not-collected"
	ReservedLabel  Code = "reserved-label"
	IncompleteAuth Code = "incomplete-auth"

	UnknownScrapeClass Code = "unknown-scrape-class"
	InvalidPEM         Code = "invalid-pem"
)

// monitorCodes documents what is found in and about IntegrationMonitors, and about monitors in mode current.
func monitorCodes() []CodeInfo {
	return []CodeInfo{
		{NotCollected, "A MetricsIntegration runs, but no IntegrationMonitor scrapes it.",
			"Usually there is a typo in a label or in the monitor's selector, or the monitor selects in its own namespace only. Label the MetricsIntegration, or let a monitor of the same GrafanaAgent select it."},
		{ReservedLabel, "A rule of an IntegrationMonitor sets a label whose value is fixed.",
			"The labels job, instance, monitor, metrics_instance and, with scope: all, cluster always say what was scraped, and by which monitor. Remove the rule, or let it set another label."},
		{IncompleteAuth, "A part of a credential is missing.",
			"basicAuth needs a username and a password, authorization its credentials (and a type other than Basic), oauth2 a client id and a client secret. It is a warning if the request is only sent without an Authorization header."},
		{UnknownScrapeClass, "A monitor names a scrape class that its GrafanaAgent does not have.",
			"The monitor is left out, because the class may hold credentials or rules that it needs. Correct spec.scrapeClass, or add the class to spec.metrics.scrapeClasses of the GrafanaAgent."},
		{InvalidPEM, "A TLS setting refers to a certificate or a key that no client can use.",
			"The content must be PEM, and a key must be the one of its certificate. It is looked at in compatibility mode current under the secrets policy plaintext, if the Secret or ConfigMap is in the inputs."},
	}
}
