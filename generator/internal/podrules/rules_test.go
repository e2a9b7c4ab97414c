package podrules

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// fields returns the fields of errors, in order.
func fields(errs field.ErrorList) (out []string) {
	for _, e := range errs {
		out = append(out, e.Field)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestPod(t *testing.T) {
	for text, want := range map[string]string{
		"{}":                      "",
		"serviceAccountName: a.b": "",
		"serviceAccountName: A":   "serviceAccountName",
		"priorityClassName: a_b":  "priorityClassName",
		"runtimeClassName: ''":    "runtimeClassName",
		"imagePullSecrets: [{name: a}, {name: b}]":                                            "",
		"imagePullSecrets: [{name: a}, {name: b}, {name: a}]":                                 "imagePullSecrets[2]",
		"nodeSelector: {a b: c}":                                                              "nodeSelector",
		"nodeSelector: {a: b c}":                                                              "nodeSelector",
		"tolerations: [{operator: Exists}]":                                                   "",
		"tolerations: [{key: a}]":                                                             "",
		"tolerations: [{operator: Equal}]":                                                    "tolerations[0].operator",
		"tolerations: [{key: a, operator: Gt}]":                                               "tolerations[0].operator",
		"tolerations: [{key: a b, value: c d}]":                                               "tolerations[0].key tolerations[0].value",
		"tolerations: [{key: a, effect: Never}]":                                              "tolerations[0].effect",
		"tolerations: [{key: a, operator: Exists, value: b}]":                                 "tolerations[0].value",
		"tolerations: [{key: a, tolerationSeconds: 1, effect: NoSchedule}]":                   "tolerations[0].effect",
		"topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: Never}]": "topologySpreadConstraints[0].whenUnsatisfiable",
		"topologySpreadConstraints: [{whenUnsatisfiable: ScheduleAnyway}]":                    "topologySpreadConstraints[0].maxSkew topologySpreadConstraints[0].topologyKey",
		"topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway, minDomains: 1, " +
			"nodeTaintsPolicy: No, nodeAffinityPolicy: No}]": "topologySpreadConstraints[0].minDomains " +
			"topologySpreadConstraints[0].nodeAffinityPolicy topologySpreadConstraints[0].nodeTaintsPolicy",
		"topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}, {maxSkew: 2, " +
			"topologyKey: a, whenUnsatisfiable: DoNotSchedule}]": "topologySpreadConstraints[1]",
		"topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: " +
			"[a]}]": "topologySpreadConstraints[0].matchLabelKeys",
		"affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}}}": "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
		"affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {a: " +
			"b}}, matchLabelKeys: [a], mismatchLabelKeys: [a], topologyKey: z}]}}": "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys[0]",
		"affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 101, " +
			"podAffinityTerm: {namespaces: [a.b], labelSelector: {matchExpressions: [{key: a, operator: in}]}}}]}}": "affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector.matchExpressions[0].operator affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.namespaces[0] affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight",
		"securityContext: {runAsUser: -1, runAsGroup: -1, fsGroup: -1, supplementalGroups: [-1]}":                    "securityContext.fsGroup securityContext.runAsGroup securityContext.runAsUser securityContext.supplementalGroups[0]",
		"securityContext: {fsGroupChangePolicy: Never, supplementalGroupsPolicy: Never, seLinuxChangePolicy: Never}": "securityContext.fsGroupChangePolicy securityContext.seLinuxChangePolicy securityContext.supplementalGroupsPolicy",
		"securityContext: {sysctls: [{name: net.core.x}, {name: net.core.x}, {name: 'a b'}]}":                        "securityContext.sysctls[1].name securityContext.sysctls[2].name",
		"securityContext: {seccompProfile: {type: Localhost}}":                                                       "securityContext.seccompProfile.localhostProfile",
		"securityContext: {seccompProfile: {type: Localhost, localhostProfile: ../x}}":                               "securityContext.seccompProfile.localhostProfile",
		"securityContext: {appArmorProfile: {type: RuntimeDefault, localhostProfile: x}}":                            "securityContext.appArmorProfile.localhostProfile",
		"affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: " +
			"{matchExpressions: [{key: a, operator: In, values: ['no label!']}]}}]}}": "",
	} {
		var pod corev1.PodSpec
		if err := yaml.UnmarshalStrict([]byte(text), &pod); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, strings.Join(fields(Pod(&pod, nil)), " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	nodeTerms := func(expression string) string {
		return "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [" +
			expression + "]}}}"
	}
	for text, want := range map[string]string{
		"{matchExpressions: [{key: a, operator: In}]}":                        "values",
		"{matchExpressions: [{key: a, operator: Exists, values: [b]}]}":       "values",
		"{matchExpressions: [{key: a, operator: Gt, values: ['1', '2']}]}":    "values",
		"{matchExpressions: [{key: a, operator: in, values: [b]}]}":           "operator",
		"{matchExpressions: [{key: a b, operator: Exists}]}":                  "key",
		"{matchExpressions: [{key: a, operator: In, values: ['a b']}]}":       "values[0]",
		"{matchFields: [{key: metadata.name, operator: In, values: [A]}]}":    "values[0]",
		"{matchFields: [{key: metadata.uid, operator: In, values: [a]}]}":     "key",
		"{matchFields: [{key: metadata.name, operator: Gt, values: [a]}]}":    "operator",
		"{matchFields: [{key: metadata.name, operator: In, values: [a, b]}]}": "values",
	} {
		var pod corev1.PodSpec
		if err := yaml.UnmarshalStrict([]byte(nodeTerms(text)), &pod); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := fields(Pod(&pod, nil)); len(got) != 1 || !strings.HasSuffix(got[0], "[0]."+want) {
			t.Errorf("%s: %s, want one about %s", text, got, want)
		}
	}
}

func TestContainer(t *testing.T) {
	for text, want := range map[string]string{
		"{}":                              "",
		"terminationMessagePolicy: Never": "terminationMessagePolicy",
		"imagePullPolicy: Sometimes":      "imagePullPolicy",
		"ports: [{containerPort: 1, name: a, protocol: ICMP}, {containerPort: 0, name: a, hostPort: 70000}]": "ports[0].protocol ports[1].containerPort ports[1].hostPort ports[1].name",
		"env: [{name: ''}, {name: a, value: b, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]":          "env[0].name env[1].valueFrom",
		"env: [{name: a, valueFrom: {}}]":                                                                            "env[0].valueFrom",
		"env: [{name: a, valueFrom: {fieldRef: {fieldPath: 'metadata.labels[''a'']'}}}]":                             "",
		"env: [{name: a, valueFrom: {fieldRef: {fieldPath: metadata.labels}}}]":                                      "env[0].valueFrom.fieldRef.fieldPath",
		"env: [{name: a, valueFrom: {fieldRef: {fieldPath: 'metadata.labels[''a b'']'}}}]":                           "env[0].valueFrom.fieldRef.fieldPath",
		"env: [{name: a, valueFrom: {fieldRef: {fieldPath: metadata.name, apiVersion: v2}}}]":                        "env[0].valueFrom.fieldRef.apiVersion",
		"env: [{name: a, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1k}}}]":                       "env[0].valueFrom.resourceFieldRef.divisor",
		"env: [{name: a, valueFrom: {resourceFieldRef: {resource: cpu}}}]":                                           "env[0].valueFrom.resourceFieldRef.resource",
		"env: [{name: a, valueFrom: {configMapKeyRef: {name: A, key: a b}}}]":                                        "env[0].valueFrom.configMapKeyRef.key env[0].valueFrom.configMapKeyRef.name",
		"envFrom: [{}, {prefix: 1, secretRef: {name: ''}}]":                                                          "envFrom[0] envFrom[1].prefix envFrom[1].secretRef.name",
		"envFrom: [{configMapRef: {name: a}, secretRef: {name: a}}]":                                                 "envFrom[0]",
		"resources: {requests: {cpu: 1}, limits: {cpu: 1, memory: 1}}":                                               "",
		"resources: {requests: {cpu: 2, storage: 1, memory: -1}, limits: {cpu: 1}}":                                  "resources.requests[cpu] resources.requests[memory] resources.requests[storage]",
		"resources: {requests: {example.com/gpu: 1}}":                                                                "resources.requests[example.com/gpu]",
		"resources: {requests: {example.com/gpu: 1}, limits: {example.com/gpu: 2}}":                                  "resources.requests[example.com/gpu]",
		"resources: {limits: {example.com/gpu: 1500m}}":                                                              "resources.limits[example.com/gpu]",
		"resources: {limits: {a/b/c: 1}}":                                                                            "resources.limits[a/b/c]",
		"resources: {limits: {hugepages-2Mi: 4Mi}}":                                                                  "resources",
		"resources: {limits: {cpu: 1, hugepages-2Mi: 3Mi}}":                                                          "resources.limits[hugepages-2Mi]",
		"resources: {claims: [{name: a}]}":                                                                           "resources.claims",
		"volumeDevices: [{name: claim, devicePath: /a}]":                                                             "",
		"volumeDevices: [{name: files, devicePath: /a}, {name: claim, devicePath: ''}]":                              "volumeDevices[0].name volumeDevices[1].devicePath",
		"{volumeMounts: [{name: claim, mountPath: /x}], volumeDevices: [{name: claim, devicePath: /a}]}":             "volumeDevices[0].name",
		"securityContext: {runAsUser: -1, runAsGroup: -1, procMount: Unmasked}":                                      "securityContext.procMount securityContext.runAsGroup securityContext.runAsUser",
		"securityContext: {privileged: true, allowPrivilegeEscalation: false}":                                       "securityContext.allowPrivilegeEscalation",
		"securityContext: {capabilities: {add: [CAP_SYS_ADMIN]}, allowPrivilegeEscalation: false}":                   "securityContext.allowPrivilegeEscalation",
		"resizePolicy: [{resourceName: cpu, restartPolicy: Never}, {resourceName: cpu, restartPolicy: NotRequired}]": "resizePolicy[0].restartPolicy resizePolicy[1]",
		"restartPolicy: Sometimes":                                                                                   "restartPolicy",
		"restartPolicyRules: [{action: Restart}]":                                                                    "restartPolicy",
		"livenessProbe: {}":                                                                             "livenessProbe",
		"livenessProbe: {exec: {}}":                                                                     "livenessProbe.exec.command",
		"livenessProbe: {grpc: {port: 0}}":                                                              "livenessProbe.grpc.port",
		"livenessProbe: {tcpSocket: {port: 'no port'}}":                                                 "livenessProbe.tcpSocket.port",
		"livenessProbe: {exec: {command: [a]}, tcpSocket: {port: 1}}":                                   "livenessProbe",
		"livenessProbe: {tcpSocket: {port: 1}, successThreshold: 2, periodSeconds: -1}":                 "livenessProbe.periodSeconds livenessProbe.successThreshold",
		"readinessProbe: {tcpSocket: {port: 1}, successThreshold: 2, terminationGracePeriodSeconds: 1}": "readinessProbe.terminationGracePeriodSeconds",
		"startupProbe: {httpGet: {port: 0, scheme: ftp, httpHeaders: [{name: a b}]}}":                   "startupProbe.httpGet.httpHeaders[0].name startupProbe.httpGet.port startupProbe.httpGet.scheme",
		"lifecycle: {stopSignal: SIGTERM, preStop: {sleep: {seconds: 31}}, postStart: {}}":              "lifecycle.postStart lifecycle.preStop.sleep.seconds lifecycle.stopSignal",
	} {
		if diff := cmp.Diff(want, container(t, text, false)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	for text, want := range map[string]string{
		"startupProbe: {tcpSocket: {port: 1}}":                          "startupProbe",
		"{restartPolicy: Always, startupProbe: {tcpSocket: {port: 1}}}": "",
		"lifecycle: {}": "lifecycle",
		"resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]": "resizePolicy[0].restartPolicy",
	} {
		if diff := cmp.Diff(want, container(t, text, true)); diff != "" {
			t.Errorf("an init container with %s (-want +got):\n%s", text, diff)
		}
	}
}

// container returns the fields of a container that would be refused.
func container(t *testing.T, text string, initial bool) string {
	t.Helper()
	var c corev1.Container
	if err := yaml.UnmarshalStrict([]byte(text), &c); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return strings.Join(fields(Container(&c, initial, PodContext{Claims: map[string]bool{"claim": true}, Grace: 30},
		nil)), " ")
}

func TestWarnings(t *testing.T) {
	for text, want := range map[string]string{
		"{}":                           "",
		"imagePullSecrets: [{}]":       "imagePullSecrets[0].name",
		"containers: [{name: a}]":      "",
		"affinity: {nodeAffinity: {}}": "",
		"topologySpreadConstraints: [{labelSelector: {}}, {maxSkew: 1}]":                                       "topologySpreadConstraints[1].labelSelector",
		"affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {}}, {}]}}": "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[1].labelSelector",
		"affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1}]}}":        "affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector",
		"containers: [{resources: {limits: {cpu: 400m, memory: 400M}, requests: {cpu: 1m, memory: 0.5Ki}}}]":   "",
		"containers: [{resources: {limits: {memory: 400m}, requests: {ephemeral-storage: 1.5}}}]":              "resources.limits[memory] resources.requests[ephemeral-storage]",
	} {
		var pod corev1.PodSpec
		if err := yaml.UnmarshalStrict([]byte(text), &pod); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		warnings := PodWarnings(&pod, nil)
		for i := range pod.Containers {
			warnings = append(warnings, ContainerWarnings(&pod.Containers[i], nil)...)
		}
		if diff := cmp.Diff(want, strings.Join(fields(warnings), " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestVolume(t *testing.T) {
	for text, want := range map[string]string{
		"emptyDir: {sizeLimit: 0}":                                                         "",
		"emptyDir: {sizeLimit: -1}":                                                        "sizeLimit",
		"hostPath: {path: /a, type: ''}":                                                   "",
		"hostPath: {path: /a, type: Folder}":                                               "hostPath.type",
		"secret: {secretName: a, defaultMode: 511}":                                        "",
		"secret: {secretName: a, defaultMode: 512}":                                        "defaultMode",
		"configMap: {name: a, items: [{key: b, path: c, mode: -1}]}":                       "mode of an item",
		"nfs: {server: a, path: /b}":                                                       "",
		"nfs: {server: a, path: b}":                                                        "nfs",
		"csi: {driver: a.b}":                                                               "",
		"csi: {driver: a/b}":                                                               "csi.driver",
		"csi: {driver: a, nodePublishSecretRef: {}}":                                       "nodePublishSecretRef",
		"image: {reference: a, pullPolicy: Now}":                                           "pullPolicy",
		"downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.labels}}]}":        "",
		"downwardAPI: {items: [{path: a, fieldRef: {fieldPath: spec.nodeName}}]}":          "items[0].fieldRef.fieldPath",
		"downwardAPI: {items: [{path: ..a, fieldRef: {fieldPath: metadata.name}}]}":        "items[0].path",
		"downwardAPI: {items: [{path: a}]}":                                                "items[0]",
		"downwardAPI: {items: [{path: a, resourceFieldRef: {resource: limits.cpu}}]}":      "containerName",
		"downwardAPI: {defaultMode: 512}":                                                  "defaultMode",
		"projected: {defaultMode: 512}":                                                    "defaultMode",
		"projected: {sources: [{serviceAccountToken: {path: a, expirationSeconds: 600}}]}": "",
		"projected: {sources: [{serviceAccountToken: {path: a, expirationSeconds: 599}}]}": "expirationSeconds",
		"projected: {sources: [{serviceAccountToken: {path: ''}}]}":                        "serviceAccountToken.path is empty",
		"projected: {sources: [{secret: {name: a}, configMap: {name: a}}]}":                "more than one kind",
		"projected: {sources: [{secret: {name: a, items: [{key: k, path: p}]}}, {configMap: {name: a, items: [{key: " +
			"k, path: p}]}}]}": "sources[1]",
		"projected: {sources: [{clusterTrustBundle: {name: a, path: ../b}}]}": "clusterTrustBundle.path",
	} {
		var v corev1.Volume
		if err := yaml.UnmarshalStrict([]byte(text), &v); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if warning := VolumeWarning(&v); want == "" && warning != "" {
			t.Errorf("%s: warned of: %s", text, warning)
		}
		if got := Volume(&v); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestVolumeWarnings(t *testing.T) {
	for text, want := range map[string]string{
		"secret: {secretName: a, items: [{key: a, path: a}, {key: b, path: ab}, {key: c, path: b/a}]}":                "",
		"secret: {secretName: a, items: [{key: a, path: a}, {key: b, path: a/}]}":                                     `"a" and "a"`,
		"configMap: {name: a, items: [{key: a, path: a/b}, {key: b, path: a}]}":                                       `"a" and "a/b"`,
		"downwardAPI: {items: [{path: a}, {path: b}, {path: a/c}]}":                                                   `"a" and "a/c"`,
		"projected: {sources: [{secret: {name: a, items: [{key: k, path: p}]}}, {serviceAccountToken: {path: p/a}}]}": `"p" and "p/a"`,
		"projected: {sources: [{configMap: {name: a}}, {}]}":                                                          "sources[1] is empty",
		"projected: {sources: [{downwardAPI: {items: [{path: a}]}}, {clusterTrustBundle: {path: a}}]}":                `"a" and "a"`,
		"gitRepo: {repository: a}": "removed gitRepo in version 1.33",
		"rbd: {image: a}":          "removed rbd in version 1.31",
		"emptyDir: {}":             "",
	} {
		var v corev1.Volume
		if err := yaml.UnmarshalStrict([]byte(text), &v); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := VolumeWarning(&v); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
