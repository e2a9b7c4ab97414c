package hierarchytest

// APIVersion and Kind identify a test.
const (
	APIVersion = "agentry.dev/v1alpha1"
	Kind       = "HierarchyTest"
)

// Test is a list of expectations: who selects an object, and what becomes of a target and its series.
type Test struct {
	// APIVersion is agentry.dev/v1alpha1.
	// +kubebuilder:validation:Enum=agentry.dev/v1alpha1
	APIVersion string `json:"apiVersion"`
	// Kind is HierarchyTest.
	// +kubebuilder:validation:Enum=HierarchyTest
	Kind string `json:"kind"`
	// Metadata names the test.
	Metadata Metadata `json:"metadata"`
	// Spec has the cases.
	Spec Spec `json:"spec"`

	// File is the name of the file that the test is in, for reports.
	File string `json:"-"`
}

// Metadata is the metadata of a test. Nothing but the name is used.
type Metadata struct {
	// Name is in the reports.
	// +kubebuilder:validation:MinLength=1
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Spec has the cases of a test.
type Spec struct {
	// Selected are expectations of who selects an object.
	Selected []Selected `json:"selected,omitempty"`
	// Targets are expectations of what becomes of targets and their series.
	Targets []Target `json:"targets,omitempty"`
}

// Selected lists the objects that must select an object.
type Selected struct {
	// Name describes the case in reports.
	Name string `json:"name,omitempty"`
	// Object is Kind/namespace/name.
	Object string `json:"object"`
	// By are all objects whose selectors select it, each as Kind/namespace/name. [] says that none does.
	By []string `json:"by"`

	Line int `json:"-"` // in the file, from 1
}

// Target is the expected outcome of a target that service discovery finds.
type Target struct {
	// Name describes the case in reports.
	Name string `json:"name,omitempty"`
	// Agent is the namespace/name of the GrafanaAgent, if several have the job.
	Agent string `json:"agent,omitempty"`
	// Instance is the namespace/name of the MetricsInstance, if several have the job.
	Instance string `json:"instance,omitempty"`
	// Job is the name of the scrape job, as in serviceMonitor/shop/checkout/0.
	Job string `json:"job"`
	// Discovered are the labels of the target before relabelling, as Prometheus's page Service Discovery shows them.
	Discovered map[string]string `json:"discovered"`

	// Dropped says that no shard scrapes the target.
	Dropped bool `json:"dropped,omitempty"`
	// URL is the address that is scraped. If it is not set, it is not tested.
	URL string `json:"url,omitempty"`
	// Labels are all labels of the target after relabelling. If they are not set, they are not tested.
	Labels map[string]string `json:"labels,omitempty"`
	// Series are expectations of what becomes of the samples that the target exposes.
	Series []Series `json:"series,omitempty"`

	Line int `json:"-"` // in the file, from 1
}

// Series is the expected outcome of one sample of a target.
type Series struct {
	// Sample is a series in Prometheus's notation, as the target exposes it.
	Sample string `json:"sample"`
	// Dropped says that it is not stored.
	Dropped bool `json:"dropped,omitempty"`
	// Stored is the stored series, with all its labels. If it is not set, it is not tested.
	Stored string `json:"stored,omitempty"`
	// Sent are all writers that receive it. If they are not set, they are not tested. [] says that none does.
	Sent []Sent `json:"sent,omitempty"`
}

// Sent is a writer that receives a series.
type Sent struct {
	// To is the name or URL of the writer.
	To string `json:"to"`
	// As is the series with all labels, including external ones. If it is not set, it is not tested.
	As string `json:"as,omitempty"`
}
