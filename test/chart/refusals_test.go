package chart

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// TestRefusals: what cannot be meant is refused before anything is installed, with the value's name.
func TestRefusals(t *testing.T) {
	s := sdAggregator()
	for name, test := range map[string]struct{ values, want string }{
		"a value that does not exist": {"replicaCount: 3", "additional properties 'replicaCount' not allowed"},
		"one further down": {"image: {digset: x}",
			"at '/image': additional properties 'digset' not allowed"},
		"a type":            {"replicas: '2'", "at '/replicas': got string, want integer"},
		"a negative number": {"replicas: -1", "at '/replicas'"},
		"an enum": {"image: {pullPolicy: Sometimes}",
			"at '/image/pullPolicy': value must be one of 'Always', 'IfNotPresent', 'Never'"},
		"a digest":                    {"image: {digest: 'sha256:abc'}", "at '/image/digest'"},
		"a tag with a digest":         {"image: {tag: '1.0@sha256:abc'}", "at '/image/tag'"},
		"a namespace":                 {"namespaces: [Shop]", "at '/namespaces/0'"},
		"namespaces twice":            {"namespaces: [a, a]", "at '/namespaces': items at 0 and 1 are equal"},
		"namespaces as a word":        {"namespaces: shop", "at '/namespaces': got string, want array"},
		"a DNS name without an owner": {"dns: ['agent.monitoring.svc:8080']", "at '/dns/0'"},
		"a DNS name without a port":   {"dns: ['monitoring/agent=agent.monitoring.svc']", "at '/dns/0'"},
		"an interval without a unit":  {"poll: {interval: '30'}", "at '/poll/interval'"},
		"an interval that is a number": {"poll: {interval: 30}",
			"at '/poll/interval': got number, want string"},
		"no time for a poll":     {"poll: {timeout: 0s}", "poll.timeout must be more than 0"},
		"a poll without a pause": {"poll: {interval: 10ms, timeout: 5ms}", "poll.interval 1s or more"},
		"a port": {"service: {port: 70000}",
			"at '/service/port': maximum: got 70,000, want 65,535"},
		"a label value": {"commonLabels: {team: 'a b'}", "at '/commonLabels/team'"},
		"a number as annotation": {"podAnnotations: {x: 1}",
			"at '/podAnnotations/x': got number, want string"},
		"a misspelt toleration": {"tolerations: [{keys: x}]",
			"at '/tolerations/0': additional properties 'keys' not allowed"},
		"a misspelt resource": {"resources: {limit: {memory: 1Gi}}",
			"at '/resources': additional properties 'limit' not allowed"},
		"a quantity":                           {"resources: {limits: {memory: 1GB}}", "at '/resources/limits/memory'"},
		"an environment variable without name": {"extraEnv: [{value: x}]", "at '/extraEnv/0': missing property 'name'"},
		"a flag without dashes":                {"extraArgs: [kubeconfig=x]", "at '/extraArgs/0'"},
		"a peer": {"networkPolicy: {clients: [{podSelectors: {}}]}",
			"at '/networkPolicy/clients/0': additional properties 'podSelectors' not allowed"},
		"a range": {"networkPolicy: {apiServer: {cidrs: [10.0.0.1]}}",
			"at '/networkPolicy/apiServer/cidrs/0'"},
		"an alert that does not exist": {"metrics: {prometheusRule: {disabled: [SDDown]}}",
			"at '/metrics/prometheusRule/disabled/0': value must be one of"},

		"all namespaces and some": {"namespaces: [shop]\nrbac: {clusterWide: true}",
			"leave `namespaces` empty"},
		"DNS and namespaces": {"namespaces: [shop]\ndns: ['a/b=c:1']",
			"`dns` replaces the discovery by EndpointSlices"},
		"client certificates without TLS": {"tls: {clientCA: {secretName: ca}}", "tls.clientCA needs TLS"},
		"a certificate without an issuer": {"tls: {certManager: {enabled: true}}",
			"tls.certManager.issuerRef.name is needed"},
		"a CA of pods that speak HTTP":   {"poll: {tls: {secretName: pods}}", "set poll.scheme to https"},
		"a name of pods that speak HTTP": {"poll: {tls: {serverName: x}}", "set poll.scheme to https"},
		"too few polls": {"poll: {concurrency: 3}",
			"at '/poll/concurrency': minimum: got 3, want 4"},
		"a log level": {"logLevel: loud",
			"at '/logLevel': value must be one of 'debug', 'info', 'warn', 'error'"},
		"a limit of nothing": {"limits: {podBytes: 0}",
			"at '/limits/podBytes': minimum: got 0, want 1"},
		"a client certificate without its key": {"poll: {scheme: https, tls: {secretName: pods, certKey: tls.crt}}",
			"poll.tls.keyKey is needed"},
		"a client certificate from nowhere": {"poll: {scheme: https, tls: {certKey: tls.crt, keyKey: tls.key}}",
			"poll.tls.secretName is needed"},
		"a ServiceMonitor without a Service": {
			"metrics: {service: {enabled: false}, serviceMonitor: {enabled: true}}",
			"metrics.serviceMonitor needs metrics.service.enabled"},
		"both listeners on one port": {"metrics: {port: 8080}", "metrics.port must not be 8080"},
		"a flag that the chart sets": {"extraArgs: [--listen=:80]",
			"extraArgs: --listen is set by a value of this chart"},
		"a rolling update that takes one away": {"updateStrategy: {rollingUpdate: {maxUnavailable: -1}}",
			"at '/updateStrategy/rollingUpdate/maxUnavailable'"},
		"a volume without a name": {"extraVolumes: [{emptyDir: {}}]",
			"at '/extraVolumes/0': missing property 'name'"},
		"a mount that is misspelt": {"extraVolumeMounts: [{name: x, path: /x}]",
			"at '/extraVolumeMounts/0'"},
		"a name that no Service may have": {"fullnameOverride: 1-sd", "at '/fullnameOverride'"},
		"a name in capitals":              {"nameOverride: SD", "at '/nameOverride'"},
		"a kubelet Service without namespace": {"kubeletService: {enabled: true, service: kubelet}",
			"at '/kubeletService/service'"},
		"a kubelet Service with a bad name": {"kubeletService: {service: default/1kubelet}",
			"at '/kubeletService/service'"},
		"a kind of certificate key": {"tls: {certManager: {privateKey: {algorithm: DSA}}}",
			"at '/tls/certManager/privateKey/algorithm'"},
		"a poll that may last until after the next one": {"poll: {interval: 1m, timeout: 1m30s}",
			"poll.timeout must not be longer than poll.interval"},
	} {
		t.Run(name, func(t *testing.T) {
			s.refuses(t, release{}, s.with(t, test.values), test.want)
		})
	}
}

// TestBothRefuse is about values that both charts have.
func TestBothRefuse(t *testing.T) {
	volumeClaim := "extraVolumes: [{name: x, ephemeral: {volumeClaimTemplate: {spec: {storageClass: fast}}}}]"
	for name, test := range map[string]struct{ values, want string }{
		"a misspelt field of the pods' context": {"podSecurityContext: {runAsUsr: 1}",
			"at '/podSecurityContext': additional properties 'runAsUsr' not allowed"},
		"a user by name": {"podSecurityContext: {runAsUser: abc}",
			"at '/podSecurityContext/runAsUser': got string, want null or integer"},
		"a misspelt field of the containers' context": {"securityContext: {readOnlyRoot: true}",
			"at '/securityContext': additional properties 'readOnlyRoot' not allowed"},
		"a misspelt capability": {"securityContext: {capabilities: {drops: [ALL]}}",
			"at '/securityContext/capabilities': additional properties 'drops' not allowed"},
		"a misspelt source of an environment variable": {
			"extraEnv: [{name: A, valueFrom: {secretKeyReff: {name: a, key: b}}}]",
			"at '/extraEnv/0/valueFrom': additional properties 'secretKeyReff' not allowed"},
		"an environment variable of no key": {"extraEnv: [{name: A, valueFrom: {secretKeyRef: {name: a}}}]",
			"at '/extraEnv/0/valueFrom/secretKeyRef': missing property 'key'"},
		"a misspelt volume": {"extraVolumes: [{name: x, emtyDir: {}}]",
			"at '/extraVolumes/0': additional properties 'emtyDir' not allowed"},
		"a misspelt field of a volume claim": {volumeClaim, "additional properties 'storageClass' not allowed"},
		"a misspelt affinity": {"affinity: {nodeAffinity: {requiredDuringSchedulngIgnored: {}}}",
			"at '/affinity/nodeAffinity': additional properties 'requiredDuringSchedulngIgnored' not allowed"},
		"an update that may change nothing": {"updateStrategy: {rollingUpdate: {maxSurge: 0}}",
			"maxSurge and maxUnavailable must not both be 0"},
		"an update of no share": {"updateStrategy: {rollingUpdate: {maxSurge: 0%, maxUnavailable: 0%}}",
			"maxSurge and maxUnavailable must not both be 0"},
		"an ECDSA key of a size of RSA": {"tls: {certManager: {privateKey: {size: 2048}}}",
			"at '/tls/certManager/privateKey/size': value must be one of 256, 384, 521"},
		"an RSA key of a size of ECDSA": {"tls: {certManager: {privateKey: {algorithm: RSA, size: 256}}}",
			"at '/tls/certManager/privateKey/size': value must be one of 2048, 4096, 8192"},
	} {
		t.Run(name, func(t *testing.T) {
			eachChart(t, func(t *testing.T, s subject) { s.refuses(t, release{}, s.with(t, test.values), test.want) })
		})
	}
}

// TestNamesOfServices: Helm takes names of releases that no Service may have.
func TestNamesOfServices(t *testing.T) {
	eachChart(t, func(t *testing.T, s subject) {
		for _, name := range []string{"9x", "a.b"} {
			r := release{name: name, namespace: s.namespace}
			s.refuses(t, r, s.with(t, ""), name+"-"+s.name+`" cannot be the name of a Service`)
			s.render(t, r, s.with(t, "fullnameOverride: x9"))
		}
	})
}

// TestFlagsAndVolumesOfTheChart: what the Deployment of a case has cannot be added once more.
func TestFlagsAndVolumesOfTheChart(t *testing.T) {
	eachChart(t, func(t *testing.T, s subject) {
		seen := map[string]bool{}
		once := func(values map[string]any, key, name string, value any, want string) {
			if seen[name] {
				return
			}
			seen[name] = true
			values[key] = []any{value}
			s.refuses(t, release{}, values, name+want)
			delete(values, key)
		}
		for _, values := range s.cases(t) {
			for _, key := range []string{"extraArgs", "extraVolumes", "extraVolumeMounts"} {
				delete(values, key)
			}
			pod := of[*appsv1.Deployment](s.objects(t, values))[0].Spec.Template.Spec
			for _, arg := range pod.Containers[0].Args {
				if flag, _, isFlag := strings.Cut(arg, "="); isFlag {
					once(values, "extraArgs", flag, arg, " is set by a value of this chart")
				}
			}
			for _, volume := range pod.Volumes {
				once(values, "extraVolumes", volume.Name, map[string]any{"name": volume.Name},
					" is the name of a volume of this chart")
			}
		}
	})
}

// with are the least values of the chart and these.
func (s subject) with(t *testing.T, values string) map[string]any {
	t.Helper()
	return merged(parse(t, s.least), parse(t, values))
}

// refuses holds that the chart does not take values, and says why.
func (s subject) refuses(t *testing.T, r release, values map[string]any, want string) {
	t.Helper()
	if _, err := s.tryRender(t, r, values); err == nil {
		t.Errorf("is taken:\n%v", values)
	} else if !strings.Contains(err.Error(), want) {
		t.Errorf("the message lacks %q:\n%v", want, err)
	}
}

// TestParentCharts: what Helm and parent charts put among the values is not refused.
func TestParentCharts(t *testing.T) {
	sdAggregator().render(t, release{}, parse(t, "global: {anything: 1}\nenabled: true"))
}
