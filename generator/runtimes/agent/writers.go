package agent

import (
	"slices"
	"strconv"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// nameWriters refuses two writers with one name, and names writers that the agent could not tell apart: it compares
// unnamed ones with their secrets masked and without regular expressions.
func nameWriters(found *diag.List, list []model.RemoteWrite) []model.RemoteWrite {
	named := map[model.String]int{}
	var places []int // writers without a name
	var masks, full []model.RemoteWrite
	for i := range list {
		name := list[i].Name
		if name == "" {
			places, masks, full = append(places, i), append(masks, maskedWriter(list[i])), append(full, filled(list[i]))
			continue
		}
		if n, taken := named[name]; taken {
			found.Add(list[i].Origin.Place(diag.DuplicateRemoteWrite.At(".name", "%q is the name of %s too", name,
				list[n].Origin.Path)))
		}
		named[name] = i
	}
	out := slices.Clone(list)
	for _, same := range classes(masks, address, equalWriters) {
		for _, n := range same[1:] {
			if equalWriters(full[n], full[same[0]]) {
				found.Add(list[places[n]].Origin.Place(diag.DuplicateRemoteWrite.At("", "%s",
					"is equal to "+list[places[same[0]]].Origin.Path+": every sample would be sent twice")))
			}
		}
		for _, n := range same {
			if len(same) > 1 {
				out[places[n]].Name = model.String("agentry-" + strconv.Itoa(places[n]))
			}
		}
	}
	return out
}

// nameClients refuses equal clients, and names clients that the agent could not tell apart: it compares unnamed ones
// with their secrets masked.
func nameClients(found *diag.List, list []model.LogsClient) []model.LogsClient {
	full := make([]model.LogsClient, len(list))
	for i := range list {
		full[i] = filledClient(list[i])
	}
	url := func(c model.LogsClient) string { return string(c.URL) }
	var places []int // clients that are different
	for _, same := range classes(full, url, equalClients) {
		places = append(places, same[0])
		for _, n := range same[1:] {
			found.Add(list[n].Origin.Place(diag.DuplicateLogsClient.At("", "%s",
				"is equal to "+list[same[0]].Origin.Path+": the agent refuses the whole configuration")))
		}
	}
	masks := make([]model.LogsClient, len(places))
	for n, i := range places {
		masks[n] = maskedClient(list[i])
	}
	out := slices.Clone(list)
	for _, same := range classes(masks, url, equalClients) {
		for _, n := range same {
			if len(same) > 1 {
				out[places[n]].Name = model.String("agentry-" + strconv.Itoa(places[n]))
			}
		}
	}
	return out
}
