package model

// Discovery is one entry of a list of service discoveries, as people configure them in a ScrapeConfig.
type Discovery struct {
	// Mechanism is Prometheus's name of the service discovery: consul, kubernetes, or static for targets in a list.
	Mechanism string
	// Path is the field, below the object of the job. A hand-written discovery has a Line in its text instead.
	Path string
	Line int
	// Settings are the fields specific to this service discovery, by Prometheus's names, which all runtimes share.
	// Variables are expanded in them only if they are expanded in all texts of the job.
	Settings Map
	HTTPClient
}
