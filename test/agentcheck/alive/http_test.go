package alive

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// read reads an answer, which must be a good one.
func read(url string) ([]byte, error) {
	resp, err := client().Get(url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %s", url, resp.Status, body)
	}
	return body, err
}

// get reads JSON. Without a place for it, the status is all that counts.
func get(url string, into any) error {
	body, err := read(url)
	if err != nil || into == nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("GET %s: %w", url, err)
	}
	return nil
}

// group is a target in the list that is served for discovery.
type group struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// discovery asks an agent what integrations it runs.
func discovery(agent string) ([]group, error) {
	var groups []group
	err := get("http://"+agent+"/agent/api/v1/metrics/integrations/sd", &groups)
	return groups, err
}

// target is what an agent scrapes.
type target struct {
	Endpoint string            `json:"endpoint"`
	State    string            `json:"state"`
	Labels   map[string]string `json:"labels"`
}

// targets asks an agent at one of the two places that know targets: that of what it scrapes,
// or that of what it scrapes of itself.
func targets(agent, place string) ([]target, error) {
	var answer struct{ Data []target }
	err := get("http://"+agent+"/agent/api/v1/metrics/"+place, &answer)
	return answer.Data, err
}

// series returns the labels of all series that Prometheus has stored.
func series(prometheus string) ([]map[string]string, error) {
	var answer struct{ Data []map[string]string }
	query := url.Values{"match[]": {`{__name__!=""}`}}
	err := get("http://"+prometheus+"/api/v1/series?"+query.Encode(), &answer)
	return answer.Data, err
}

// sample is a current value of a series.
type sample struct {
	Metric map[string]string
	Value  [2]any // time and value
}

func samples(prometheus, expression string) ([]sample, error) {
	var answer struct{ Data struct{ Result []sample } }
	query := url.Values{"query": {expression}}
	err := get("http://"+prometheus+"/api/v1/query?"+query.Encode(), &answer)
	return answer.Data.Result, err
}
