package integration

// Needs is what an integration asks for while the agent starts, and without which the agent
// stops; empty for those that ask later, when they are scraped. Seen with agent v0.44.8.
func Needs(name string) string {
	switch name {
	case "kafka":
		return "one of its brokers"
	case "gcp":
		return "Google's default credentials"
	}
	return ""
}
