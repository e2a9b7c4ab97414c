package merge

import "encoding/json"

// Split takes apart the document of another replica. It returns the fragment of each of the pods, nil
// for a pod that the document lacks. A replica is trusted as little as a pod: groups that the pod
// could not have sent itself are dropped, or all groups of the pod if there are more than the limit.
// It is an error if the document is not whole.
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
	err := each(document, func(raw []byte) error {
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
		if group, fault := newChecker(pods[i], limits).group(raw); fault == nil {
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
