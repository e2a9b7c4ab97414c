package merge

import "encoding/json"

// Split extracts the fragment of each pod from the document of another replica, nil for a pod that the document lacks.
// A replica is trusted as little as a pod: groups that the pod could not have sent itself are dropped, and all groups
// of a pod that has more than the limit. An incomplete document is an error.
func Split(document []byte, pods []Source, limits Limits) ([]*Fragment, error) {
	type place struct {
		owner  Owner
		target string
	}
	places := make(map[place]int, len(pods))
	for i, pod := range pods {
		places[place{pod.Owner, pod.Addr.String()}] = i
	}
	groups := make([][]Group, len(pods))
	err := eachElement(document, func(raw []byte) error {
		var head struct {
			Targets []string `json:"targets"`
			Labels  struct {
				Namespace string `json:"__meta_agentoperator_grafanaagent_namespace"`
				Name      string `json:"__meta_agentoperator_grafanaagent_name"`
			} `json:"labels"`
		}
		if json.Unmarshal(raw, &head) != nil || len(head.Targets) != 1 {
			return nil
		}
		i, asked := places[place{Owner(head.Labels), head.Targets[0]}]
		if !asked || len(groups[i]) > limits.Groups {
			return nil
		}
		if group, rejected := newChecker(pods[i], limits).group(raw); rejected == nil {
			groups[i] = append(groups[i], group)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	fragments := make([]*Fragment, len(pods))
	for i := range groups {
		if n := len(groups[i]); n > 0 && n <= limits.Groups {
			fragments[i] = newFragment(groups[i])
		}
	}
	return fragments, nil
}
