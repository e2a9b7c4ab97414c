package model

// Discovery is one entry of a list of service discoveries, as people configure them in a ScrapeConfig.
type Discovery struct {
	// Mechanism is Prometheus's name of the service discovery: consul, kubernetes, or static for targets in a list.
	Mechanism string
	// Settings are what only this service discovery has, by Prometheus's names, which runtimes share. Variables are not
	// expanded in them.
	Settings Map
	HTTPClient
}
