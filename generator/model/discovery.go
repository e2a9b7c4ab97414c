package model

// Discovery is one entry of a list of service discoveries, as people configure them in a ScrapeConfig.
type Discovery struct {
	// Mechanism is Prometheus's name of the service discovery: consul, kubernetes, or static for targets in a list.
	Mechanism string
	// Path is its field, below the object of the job. One that was written by hand has a Line in its text instead.
	Path string
	Line int
	// Settings are what only this service discovery has, by Prometheus's names, which runtimes share. Variables are not
	// expanded in them, unless they are in all texts of the job.
	Settings Map
	HTTPClient
}
