package podrules

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func TestClaim(t *testing.T) {
	const good = "accessModes: [ReadWriteOnce]\nresources: {requests: {storage: 1Gi}}\n"
	for name, test := range map[string]struct{ spec, field, problem string }{
		"a claim": {good, "", ""},
		"everything that there is": {good +
			"storageClassName: fast\nvolumeMode: Block\nselector: {matchLabels: {a: b}}\n" +
			"dataSource: {kind: PersistentVolumeClaim, name: a}\ndataSourceRef: {kind: PersistentVolumeClaim, name: a}",
			"", ""},
		"a source elsewhere": {good +
			"dataSourceRef: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: a, namespace: b}", "", ""},
		"no class on purpose": {good + `storageClassName: ""`, "", ""},
		"no access mode": {"resources: {requests: {storage: 1Gi}}", "accessModes",
			"a claim needs one of ReadWriteOnce"},
		"an unknown access mode": {"accessModes: [Often]\nresources: {requests: {storage: 1Gi}}",
			"accessModes", `"Often" is not one of`},
		"the mode of one pod beside another": {
			"accessModes: [ReadWriteOncePod, ReadWriteOnce]\nresources: {requests: {storage: 1Gi}}", "accessModes",
			"combined with another"},
		"no size": {"accessModes: [ReadWriteOnce]", "resources.requests",
			"needs a size"},
		"a size of nothing": {"accessModes: [ReadWriteOnce]\nresources: {requests: {storage: 0}}",
			"resources.requests[storage]", "greater than zero"},
		"a part of a byte": {
			"accessModes: [ReadWriteOnce]\nresources: {requests: {storage: 1500m}}", "resources.requests[storage]",
			"whole number of bytes"},
		"a bad class": {good + "storageClassName: Fast One", "storageClassName", "Fast One"},
		"a bad class of attributes": {good + "volumeAttributesClassName: _", "volumeAttributesClassName",
			`"_"`},
		"two bad classes": {good + "volumeAttributesClassName: _\nstorageClassName: Fast One",
			"storageClassName", "Fast One"},
		"an unknown volume mode": {good + "volumeMode: Tape", "volumeMode",
			"not one of Filesystem, Block"},
		"a bad selector": {good + "selector: {matchExpressions: [{key: a, operator: Like}]}",
			"selector", "not a valid selector operator"},
		"a source without a name": {good + "dataSource: {kind: PersistentVolumeClaim, name: ''}",
			"dataSource", "a kind and a name"},
		"a snapshot without its group": {good + "dataSourceRef: {kind: VolumeSnapshot, name: a}",
			"dataSourceRef", "a VolumeSnapshot needs its apiGroup"},
		"a bad group": {good + "dataSource: {apiGroup: A_B, kind: X, name: a}", "dataSource",
			`the apiGroup "A_B"`},
		"a bad namespace": {good +
			"dataSourceRef: {apiGroup: g.io, kind: X, name: a, namespace: A_B}", "dataSourceRef.namespace", `"A_B"`},
		"two sources, one of them elsewhere": {good +
			"dataSource: {apiGroup: g.io, kind: X, name: a}\n" +
			"dataSourceRef: {apiGroup: g.io, kind: X, name: a, namespace: b}", "dataSource",
			"combined with dataSourceRef.namespace"},
		"two sources that are not the same": {good +
			"dataSource: {apiGroup: g.io, kind: X, name: a}\ndataSourceRef: {apiGroup: g.io, kind: X, name: b}",
			"dataSource", "same object"},
		"two sources, one with an empty group": {good +
			"dataSource: {apiGroup: '', kind: PersistentVolumeClaim, name: a}\n" +
			"dataSourceRef: {kind: PersistentVolumeClaim, name: a}", "dataSource", "same object"},
		"two sources, with groups of one letter": {good +
			"dataSource: {apiGroup: g, kind: X, name: a}\ndataSourceRef: {apiGroup: g, kind: X, name: a}", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var spec corev1.PersistentVolumeClaimSpec
			if err := yaml.UnmarshalStrict([]byte(test.spec), &spec); err != nil {
				t.Fatal(err)
			}
			if field, problem := Claim(&spec); field != test.field || !strings.Contains(problem, test.problem) ||
				(problem == "") != (test.problem == "") {
				t.Errorf("%s: %s", field, problem)
			}
		})
	}
}
