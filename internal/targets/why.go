package targets

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apilabels "k8s.io/apimachinery/pkg/labels"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
)

// lack says what a target lacks that a rule drops.
func lack(r *model.Relabel, part explain.Part) string {
	if isOfShard(r) {
		return "it belongs to no shard"
	}
	isKept := strings.EqualFold(r.Action, "keep")
	is, isNot := "is ", "is not "
	if !isKept {
		is, isNot = isNot, is
	}
	if label, isSet, ok := labelIn(r); ok && (isKept || strings.EqualFold(r.Action, "drop")) {
		if isSet {
			return "label " + label + " " + isNot + "set"
		}
		return "label " + label + " " + isNot + wanted(r)
	}
	if len(r.SourceLabels) == 1 && isKept {
		switch strings.TrimPrefix(r.SourceLabels[0], meta) {
		case "endpoint_port_name", "endpointslice_port_name", "pod_container_port_name":
			return "port " + isNot + wanted(r)
		case "pod_container_port_number":
			return "port number " + isNot + wanted(r)
		}
	}
	if len(r.SourceLabels) == 1 && r.SourceLabels[0] == meta+"pod_phase" && !isKept {
		return "the pod is finished"
	}
	if part.From != nil {
		return part.From.Path + ": " + part.Text
	}
	return part.Text
}

// labelIn returns the label of an object that a rule of a selector is about, and whether it is only about the label's
// being set.
func labelIn(r *model.Relabel) (label string, isSet, ok bool) {
	if len(r.SourceLabels) == 0 || len(r.SourceLabels) > 2 {
		return "", false, false
	}
	for _, object := range []string{"service", "pod", "ingress"} {
		name, isLabel := strings.CutPrefix(r.SourceLabels[0], meta+object+"_label_")
		if !isLabel {
			name, isSet = strings.CutPrefix(r.SourceLabels[0], meta+object+"_labelpresent_")
		}
		second := len(r.SourceLabels) == 1 || r.SourceLabels[1] == meta+object+"_labelpresent_"+name
		if (isLabel || isSet) && second {
			return name, isSet, true
		}
	}
	return "", false, false
}

// wanted returns the values that the expression of a rule matches, in words.
func wanted(r *model.Relabel) string {
	text := r.Regex.Value
	if inner, isBoth := strings.CutSuffix(text, ");true"); isBoth {
		text = strings.TrimPrefix(inner, "(")
	}
	if text == "" {
		return "empty"
	}
	return strings.ReplaceAll(text, "|", " or ")
}

// why says why a job has no target.
func (c *Cluster) why(r rules, j *job, out *Job) string {
	switch {
	case len(j.discoveries)+len(j.written) == 0 && len(out.NotComputed) > 0:
		return "its targets are not computed: " + strings.Join(out.NotComputed, ", ")
	case len(out.Incomplete) > 0:
		return "its targets are not known: " + strings.Join(out.Incomplete, ", ")
	case len(j.discoveries) == 0 && out.Discovered == 0:
		return "no target is listed"
	}
	var reasons []string
	for _, d := range j.discoveries {
		if reason := c.whyNot(r, j, d, out); reason != "" && !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	if len(reasons) == 0 && len(out.Drops) > 0 {
		reasons = []string{allDropped(out)}
	}
	return strings.Join(append(reasons, prefixed("not computed: ", out.NotComputed)...), "; ")
}

func prefixed(prefix string, list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return []string{prefix + strings.Join(list, ", ")}
}

// allDropped says which rules drop the targets.
func allDropped(out *Job) string {
	if out.Dropped == 1 {
		return "the only target that is discovered is dropped: " + out.Drops[0].Text
	}
	return fmt.Sprintf("all %d targets that are discovered are dropped (%s)", out.Dropped, out.byRules())
}

func amount(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}

// candidate is an object that the selector of a monitor can choose.
type candidate struct {
	id     manifest.ID
	labels set
}

// whyNot says why a discovery gives no target: from the namespaces to the ports.
func (c *Cluster) whyNot(r rules, j *job, d *discovery, out *Job) string {
	if missing := c.missing(d.namespaces); len(missing) > 0 && len(missing) == len(d.namespaces) {
		return c.noNamespace(missing)
	}
	kind, all := c.candidates(d)
	if len(all) == 0 {
		return "there is no " + kind + in(d.namespaces) + c.elsewhere(r, j, d)
	}
	if len(d.selectors) == 0 && !slices.ContainsFunc(j.rules, isSelector) && len(out.Drops) > 0 {
		return "" // it takes them all
	}
	chosen, near := c.chosen(r, j, d, all)
	if len(chosen) == 0 {
		return fmt.Sprintf("no %s%s is selected: %s%s", kind, in(d.namespaces), near, c.elsewhere(r, j, d))
	}
	return c.withoutTarget(j, d, chosen, out)
}

// elsewhere names the other namespaces in which the selector of a monitor would choose objects, as far as these are
// known, with the namespaceSelector that looks there.
func (c *Cluster) elsewhere(r rules, j *job, d *discovery) string {
	if len(d.namespaces) == 0 || !slices.ContainsFunc(j.rules, isSelector) && len(d.selectors) == 0 {
		return ""
	}
	everywhere := *d
	everywhere.namespaces = nil
	kind, all := c.candidates(&everywhere)
	chosen, _ := c.chosen(r, j, &everywhere, all)
	var others []string
	for _, id := range chosen {
		if !slices.Contains(d.namespaces, id.Namespace) && !slices.Contains(others, id.Namespace) {
			others = append(others, id.Namespace)
		}
	}
	if len(others) == 0 {
		return ""
	}
	slices.Sort(others)
	text := "; the selector chooses " + kind + "s" + in(others[:min(len(others), maxNear)])
	if more := len(others) - maxNear; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	names := strings.Join(others[:min(len(others), maxNear)], ", ")
	switch isOwn := slices.Equal(d.namespaces, []string{j.Object.Namespace}); {
	case !hasNamespaceSelector(j.Object.Kind):
		return text
	case isOwn:
		return text + ": set namespaceSelector: {matchNames: [" + names + "]}"
	}
	return text + ": add " + names + " to the matchNames of namespaceSelector"
}

func hasNamespaceSelector(kind string) bool {
	return slices.Contains([]string{"ServiceMonitor", "PodMonitor", "Probe"}, kind)
}

// missing returns the namespaces that the cluster does not have, as far as that is known.
func (c *Cluster) missing(namespaces []string) (out []string) {
	for _, name := range namespaces {
		if c.namespaces != nil && !c.namespaces[name] {
			out = append(out, name)
		}
	}
	return out
}

func (c *Cluster) noNamespace(missing []string) string {
	text := "the cluster has no namespace " + strings.Join(missing, ", ")
	if len(missing) == 1 {
		if hint := diag.DidYouMean(missing[0], sortedKeys(c.namespaces)); hint != "" {
			text += "; " + hint
		}
	}
	return text
}

func in(namespaces []string) string {
	switch len(namespaces) {
	case 0:
		return " in any namespace"
	case 1:
		return " in namespace " + namespaces[0]
	}
	return " in namespaces " + strings.Join(namespaces, ", ")
}

// isSelector reports whether a rule is one of the selector of a monitor.
func isSelector(r *model.Relabel) bool {
	field := r.Written.Field
	return !r.Written.IsBelow && (field == "spec.selector" || field == "spec.targets.ingress.selector")
}

// candidates returns the objects that the selector of a monitor chooses from.
func (c *Cluster) candidates(d *discovery) (kind string, out []candidate) {
	switch d.role {
	case "endpoints", "endpointslice", "service":
		c.services.in(d.namespaces, func(s *corev1.Service) {
			out = append(out, candidate{idOf("Service", s), ofService(s)})
		})
		return "Service", out
	case "pod":
		c.pods.in(d.namespaces, func(p *corev1.Pod) {
			of := ofPod(p)
			of[meta+"namespace"] = p.Namespace
			out = append(out, candidate{idOf("Pod", p), of})
		})
		return "Pod", out
	case "ingress":
		c.ingresses.in(d.namespaces, func(i *networkingv1.Ingress) {
			out = append(out, candidate{idOf("Ingress", i), ofIngress(i)})
		})
		return "Ingress", out
	}
	c.nodes.in(nil, func(n *corev1.Node) { out = append(out, candidate{id: idOf("Node", n)}) })
	return "Node", out
}

// maxNear is how many objects are named.
const maxNear = 3

// miss are objects that a selector does not choose, and what each of them lacks.
type miss struct {
	ids      []manifest.ID
	lacks    []string
	distance int // of their labels from those that are wanted
}

// chosen returns the objects that a selector chooses. If it chooses none, near says what the nearest objects lack.
func (c *Cluster) chosen(r rules, j *job, d *discovery, all []candidate) (out []manifest.ID, near string) {
	misses := map[string]*miss{}
	lb := labels.NewBuilder(labels.EmptyLabels())
	for _, one := range all {
		of := &miss{}
		if !c.isShown(d, one.id) {
			of.lacks = []string{d.selected() + " does not select it"}
		}
		for i, rule := range j.rules {
			if lb.Reset(one.labels.sorted()); isSelector(rule) && !r.keeps(rule, lb) {
				text, distance := lackOf(rule, j.part(i), one.labels)
				of.lacks, of.distance = append(of.lacks, text), of.distance+distance
			}
		}
		if len(of.lacks) == 0 {
			out = append(out, one.id)
			continue
		}
		key := strings.Join(of.lacks, ", ")
		if misses[key] == nil {
			misses[key] = of
		}
		misses[key].ids = append(misses[key].ids, one.id)
	}
	nearest := slices.SortedFunc(maps.Values(misses), func(a, b *miss) int {
		return cmp.Or(len(a.lacks)-len(b.lacks), a.distance-b.distance, a.ids[0].Compare(b.ids[0]))
	})
	var texts []string
	for _, m := range nearest[:min(len(nearest), maxNear)] {
		text := m.ids[0].String()
		if more := len(m.ids) - 1; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		texts = append(texts, text+": "+strings.Join(m.lacks, ", "))
	}
	return out, strings.Join(texts, "; ")
}

// lackOf says what an object lacks that a rule of a selector does not keep, and how far its label is from what is
// wanted.
func lackOf(rule *model.Relabel, part explain.Part, of set) (text string, distance int) {
	text = lack(rule, part)
	label, isSet, ok := labelIn(rule)
	if !ok || isSet || !strings.EqualFold(rule.Action, "keep") {
		return text, 0
	}
	wants := wanted(rule)
	for _, object := range []string{"service", "pod", "ingress"} {
		if value, isThere := of[meta+object+"_label_"+label]; isThere {
			return "label " + label + " is " + value + ", not " + wants, diag.Distance(value, wants)
		}
	}
	return "label " + label + " is not set (" + wants + " is wanted)", len(wants)
}

// keeps reports whether a rule keeps an object. A rule that is not valid keeps all.
func (r rules) keeps(rule *model.Relabel, lb *labels.Builder) bool {
	c, err := r.of(rule, explain.Shard{})
	return err != nil || relabel.ProcessBuilder(lb, c)
}

// isShown reports whether the selectors of a discovery show an object.
func (c *Cluster) isShown(d *discovery, id manifest.ID) bool {
	switch id.Kind {
	case "Service":
		return d.shows("service", c.services[id.Namespace][id.Name])
	case "Pod":
		return d.shows("pod", c.pods[id.Namespace][id.Name])
	case "Node":
		return d.shows("node", c.nodes[id.Namespace][id.Name])
	}
	return d.shows("ingress", c.ingresses[id.Namespace][id.Name])
}

// withoutTarget says why the objects that a selector chooses give no target. They can have different reasons: of each
// the last rule that drops a target counts, which comes nearest to keeping one.
func (c *Cluster) withoutTarget(j *job, d *discovery, chosen []manifest.ID, out *Job) string {
	const nothing = -1 // drops a target: there is none
	by, dropped := map[int][]manifest.ID{}, map[int]int{}
	for _, id := range chosen {
		last := nothing
		for i, drop := range out.Drops {
			if drop.of[id] > 0 {
				last = i
			}
		}
		by[last] = append(by[last], id)
		if last != nothing {
			dropped[last] += out.Drops[last].of[id]
		}
	}
	because := func(last int) (joint, reason string) {
		switch of := by[last]; {
		case last == nothing && len(of) > 1:
			return ", and ", "none has a target; the first: " + c.withoutAddress(d, of[0])
		case last == nothing:
			return ", and ", c.withoutAddress(d, of[0])
		default:
			if ports := c.ports(j, d, of, out.Drops[last]); ports != "" {
				return ", but ", ports
			}
			return ", but ", amount(dropped[last], "target is", "targets are") + " dropped: " + out.Drops[last].Text
		}
	}
	text, lasts := list(chosen)+" "+is(chosen)+" selected", slices.Sorted(maps.Keys(by))
	if len(lasts) == 1 {
		joint, reason := because(lasts[0])
		return text + joint + reason
	}
	var reasons []string
	for _, last := range slices.Backward(lasts) {
		_, reason := because(last)
		reasons = append(reasons, list(by[last])+": "+reason)
	}
	return text + ", and none has a target: " + strings.Join(reasons, "; ")
}

func is(ids []manifest.ID) string {
	if len(ids) == 1 {
		return "is"
	}
	return "are"
}

// list names objects, or the first of them.
func list(ids []manifest.ID) string {
	var names []string
	for _, id := range ids[:min(len(ids), maxNear)] {
		names = append(names, id.String())
	}
	if more := len(ids) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// ports says that no target has the port that a rule wants, and which ports there are.
func (c *Cluster) ports(j *job, d *discovery, chosen []manifest.ID, drop Drop) string {
	if drop.Rule == 0 {
		return ""
	}
	rule := j.rules[drop.Rule-1]
	if len(rule.SourceLabels) != 1 || !strings.HasPrefix(lack(rule, explain.Part{}), "port ") {
		return ""
	}
	label, names := rule.SourceLabels[0], map[string]bool{}
	for _, f := range c.discover(d) {
		if name := f.labels.Get(label); name != "" && slices.Contains(chosen, f.of) {
			names[name] = true
		}
	}
	there := sortedKeys(names)
	text := "none of the ports is " + wanted(rule)
	switch {
	case len(there) == 0 && strings.HasSuffix(label, "_name"):
		return text + ": no port has a name"
	case len(there) == 0:
		return text + ": there is none"
	}
	text += ": there is " + strings.Join(there, " and ")
	if hint := diag.DidYouMean(rule.Regex.Value, there); hint != "" {
		text += "; " + hint
	}
	return text
}

// withoutAddress says why an object that is selected gives no target at all.
func (c *Cluster) withoutAddress(d *discovery, id manifest.ID) string {
	switch id.Kind {
	case "Pod":
		p := c.pods[id.Namespace][id.Name]
		if p.Status.PodIP == "" {
			return "it has no address: its phase is " + string(p.Status.Phase)
		}
		return "its node is not one that the discovery sees"
	case "Ingress":
		return "it has no rule"
	case "Node":
		return "it has no address"
	}
	s := c.services[id.Namespace][id.Name]
	switch {
	case d.role == "service":
		return "it lists no ports"
	case s.Spec.Type == corev1.ServiceTypeExternalName:
		return "it has no endpoints: its type is ExternalName"
	case len(s.Spec.Selector) == 0:
		return "it has no endpoints, and no selector by which Kubernetes would make them"
	}
	matched, addresses := 0, 0
	c.pods.in([]string{s.Namespace}, func(p *corev1.Pod) {
		if apilabels.SelectorFromSet(s.Spec.Selector).Matches(apilabels.Set(p.Labels)) {
			matched++
			if p.Status.PodIP != "" {
				addresses++
			}
		}
	})
	selector := apilabels.FormatLabels(s.Spec.Selector)
	switch {
	case matched == 0:
		return "it has no endpoints: no pod has the labels of its own selector, " + selector
	case addresses == 0:
		return fmt.Sprintf("it has no endpoints: %s its own selector chooses %s no address yet",
			amount(matched, "pod that", "pods that"), haveOrHas(matched))
	case len(s.Spec.Ports) == 0:
		return "it has no endpoints: it lists no ports"
	}
	return fmt.Sprintf("it has no endpoints, although its selector %s chooses %s", selector,
		amount(matched, "pod", "pods"))
}

func haveOrHas(n int) string {
	if n == 1 {
		return "has"
	}
	return "have"
}
