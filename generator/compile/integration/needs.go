package integration

// Needs names the service that an integration must reach when the agent starts; otherwise the agent stops. It is empty
// for integrations that connect when they are scraped. Observed with agent v0.44.8.
func Needs(name string) string {
	switch name {
	case "kafka":
		return "one of its brokers"
	case "gcp":
		return "Google's default credentials"
	}
	return ""
}
