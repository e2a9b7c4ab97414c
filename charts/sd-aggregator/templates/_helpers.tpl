{{/* Name of the chart, for labels. */}}
{{- define "sd-aggregator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/*
Name of the objects. A release called sd-aggregator has that name and no other, so that the Service is where agents look
for it by default. There is room for the longest suffix.
*/}}
{{- define "sd-aggregator.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 46 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 46 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "sd-aggregator.metricsServiceName" -}}
{{ include "sd-aggregator.fullname" . }}-metrics
{{- end }}

{{/* Labels that select pods. They cannot change in an upgrade. Takes root and component. */}}
{{- define "sd-aggregator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "sd-aggregator.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/*
Labels of an object, those of everyone and .extra; ours win, because selectors depend on them. Takes root, component and
extra.
*/}}
{{- define "sd-aggregator.labels" -}}
{{- $ours := include "sd-aggregator.selectorLabels" . | fromYaml }}
{{- $_ := set $ours "app.kubernetes.io/part-of" "agentry" }}
{{- $_ := set $ours "app.kubernetes.io/managed-by" .root.Release.Service }}
{{- $_ := set $ours "app.kubernetes.io/version" (regexReplaceAll "[^A-Za-z0-9_.-]" (default .root.Chart.AppVersion .root.Values.image.tag) "-" | trunc 63 | trimAll "-_.") }}
{{- $_ := set $ours "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimAll "-_.") }}
{{- mustMergeOverwrite (dict) (default (dict) .root.Values.commonLabels) (default (dict) (get . "extra")) $ours | toYaml }}
{{- end }}

{{/* Labels of pods, without those that change with each version of the chart and would restart pods needlessly. */}}
{{- define "sd-aggregator.podLabels" -}}
{{- $ours := include "sd-aggregator.selectorLabels" . | fromYaml }}
{{- mustMergeOverwrite (dict) (default (dict) .root.Values.commonLabels) (default (dict) (get . "extra")) $ours | toYaml }}
{{- end }}

{{/* Annotations of pods. Takes root and container, which commands such as kubectl logs mean. */}}
{{- define "sd-aggregator.podAnnotations" -}}
{{- mustMergeOverwrite (dict "kubectl.kubernetes.io/default-container" .container) (default (dict) .root.Values.podAnnotations) | toYaml }}
{{- end }}

{{/* The field annotations, if there are any. Takes root and extra. */}}
{{- define "sd-aggregator.annotations" -}}
{{- with mustMergeOverwrite (dict) (default (dict) .root.Values.commonAnnotations) (default (dict) (get . "extra")) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "sd-aggregator.serviceAccountName" -}}
{{- with .Values.serviceAccount }}
{{- .name | default (ternary (include "sd-aggregator.fullname" $) "default" .create) }}
{{- end }}
{{- end }}

{{- define "sd-aggregator.kubeletName" -}}
{{ include "sd-aggregator.fullname" . }}-kubelet
{{- end }}

{{- define "sd-aggregator.kubeletServiceAccountName" -}}
{{- with .Values.kubeletService.serviceAccount }}
{{- .name | default (ternary (include "sd-aggregator.kubeletName" $) "default" .create) }}
{{- end }}
{{- end }}

{{- define "sd-aggregator.image" -}}
{{- with .Values.image }}
{{- with .registry }}{{ . }}/{{ end }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ with .digest }}@{{ . }}{{ end }}
{{- end }}
{{- end }}

{{/* How pods are found: dns, cluster or namespaces. */}}
{{- define "sd-aggregator.discovery" -}}
{{- if .Values.dns }}dns{{ else if .Values.rbac.clusterWide }}cluster{{ else }}namespaces{{ end }}
{{- end }}

{{/* The namespaces of the discovery, as a JSON object {"list": [...]}; with dns those of the GrafanaAgents. */}}
{{- define "sd-aggregator.namespaces" -}}
{{- $list := list }}
{{- if .Values.dns }}
{{- range .Values.dns }}{{ $list = append $list (splitList "/" . | first) }}{{ end }}
{{- else if not .Values.rbac.clusterWide }}
{{- $list = .Values.namespaces | default (list .Release.Namespace) }}
{{- end }}
{{- dict "list" ($list | uniq | sortAlpha) | toJson }}
{{- end }}

{{- define "sd-aggregator.tlsEnabled" -}}
{{- if or .Values.tls.secretName .Values.tls.certManager.enabled }}true{{ end }}
{{- end }}

{{- define "sd-aggregator.tlsSecretName" -}}
{{- .Values.tls.secretName | default (printf "%s-tls" (include "sd-aggregator.fullname" .)) }}
{{- end }}

{{- define "sd-aggregator.portName" -}}
{{- if include "sd-aggregator.tlsEnabled" . }}https{{ else }}http{{ end }}
{{- end }}

{{/* Where agents find the aggregator. */}}
{{- define "sd-aggregator.url" -}}
{{ include "sd-aggregator.portName" . }}://{{ include "sd-aggregator.fullname" . }}.{{ .Release.Namespace }}.svc:{{ .Values.service.port }}
{{- end }}

{{/* Nine tenths of a memory limit in Mi or Gi, for GOMEMLIMIT; nothing for other units. Takes resources. */}}
{{- define "sd-aggregator.goMemLimit" -}}
{{- $limit := dig "limits" "memory" "" (default (dict) .) | toString }}
{{- if regexMatch "^[1-9][0-9]{0,5}(Mi|Gi)$" $limit }}
{{- $mebibytes := regexFind "^[0-9]+" $limit | int64 }}
{{- if hasSuffix "Gi" $limit }}{{ $mebibytes = mul $mebibytes 1024 }}{{ end }}
{{- div (mul $mebibytes 9) 10 }}MiB
{{- end }}
{{- end }}

{{/* Environment of a container. Takes resources and extra. */}}
{{- define "sd-aggregator.env" -}}
{{- $limit := include "sd-aggregator.goMemLimit" .resources }}
{{- $set := false }}
{{- range .extra }}{{ if eq .name "GOMEMLIMIT" }}{{ $set = true }}{{ end }}{{ end }}
{{- if or .extra (and $limit (not $set)) }}
env:
  {{- if and $limit (not $set) }}
  - name: GOMEMLIMIT
    value: {{ $limit }}
  {{- end }}
  {{- with .extra }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* Scheduling of pods. */}}
{{- define "sd-aggregator.scheduling" -}}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{/* The spread of a Deployment's pods, with the selector of the component. Takes root and component. */}}
{{- define "sd-aggregator.spread" -}}
{{- with .root.Values.topologySpreadConstraints }}
{{- $constraints := list }}
{{- range . }}
{{- $constraint := deepCopy . }}
{{- if not (get . "labelSelector") }}
{{- $_ := set $constraint "labelSelector" (dict "matchLabels" (include "sd-aggregator.selectorLabels" $ | fromYaml)) }}
{{- if and (not (hasKey . "matchLabelKeys")) (semverCompare ">=1.27.0-0" $.root.Capabilities.KubeVersion.Version) }}
{{- $_ := set $constraint "matchLabelKeys" (list "pod-template-hash") }}
{{- end }}
{{- end }}
{{- $constraints = append $constraints $constraint }}
{{- end }}
topologySpreadConstraints:
  {{- toYaml $constraints | nindent 2 }}
{{- end }}
{{- end }}

{{/* Checks that a schema cannot express. */}}
{{- define "sd-aggregator.validate" -}}
{{- $name := include "sd-aggregator.fullname" . }}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) }}
{{- fail (printf "%q cannot be the name of a Service, which begins with a letter and has no dots: name the release otherwise, or set fullnameOverride" $name) }}
{{- end }}
{{- with .Values.updateStrategy }}
{{- $changes := printf "%v %v" (dig "rollingUpdate" "maxSurge" "" .) (dig "rollingUpdate" "maxUnavailable" "" .) }}
{{- if and (ne (get . "type") "Recreate") (regexMatch "^0+%? 0+%?$" $changes) }}
{{- fail "updateStrategy.rollingUpdate: maxSurge and maxUnavailable must not both be 0, which allows no update" }}
{{- end }}
{{- end }}
{{- if and .Values.rbac.clusterWide .Values.namespaces }}
{{- fail "rbac.clusterWide finds pods in all namespaces: leave `namespaces` empty, or turn it off" }}
{{- end }}
{{- if and .Values.dns (or .Values.namespaces .Values.rbac.clusterWide) }}
{{- fail "`dns` replaces the discovery by EndpointSlices: leave `namespaces` empty and rbac.clusterWide off" }}
{{- end }}
{{- if and .Values.tls.clientCA.secretName (not (include "sd-aggregator.tlsEnabled" .)) }}
{{- fail "tls.clientCA needs TLS: set tls.secretName or tls.certManager.enabled" }}
{{- end }}
{{- if and .Values.tls.certManager.enabled (not (get .Values.tls.certManager.issuerRef "name")) }}
{{- fail "tls.certManager.issuerRef.name is needed: the Issuer or ClusterIssuer that signs the certificate" }}
{{- end }}
{{- $now := now }}
{{- if (mustDateModify .Values.poll.timeout $now).After (mustDateModify .Values.poll.interval $now) }}
{{- fail "poll.timeout must not be longer than poll.interval" }}
{{- end }}
{{- if or (not ((mustDateModify .Values.poll.timeout $now).After $now)) ((mustDateModify "1s" $now).After (mustDateModify .Values.poll.interval $now)) }}
{{- fail "poll.timeout must be more than 0, and poll.interval 1s or more" }}
{{- end }}
{{- if and .Values.poll.tls.serverName (ne .Values.poll.scheme "https") }}
{{- fail "poll.tls.serverName has no effect with http: set poll.scheme to https" }}
{{- end }}
{{- if and .Values.poll.tls.secretName (ne .Values.poll.scheme "https") }}
{{- fail "poll.tls.secretName has no effect with http: set poll.scheme to https" }}
{{- end }}
{{- if and .Values.poll.tls.certKey (not .Values.poll.tls.secretName) }}
{{- fail "poll.tls.secretName is needed: the Secret with poll.tls.certKey" }}
{{- end }}
{{- if eq (int .Values.metrics.port) 8080 }}
{{- fail "metrics.port must not be 8080, where the aggregator listens for agents" }}
{{- end }}
{{- if and .Values.poll.tls.certKey (not .Values.poll.tls.keyKey) }}
{{- fail "poll.tls.keyKey is needed: the private key of poll.tls.certKey" }}
{{- end }}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.service.enabled) }}
{{- fail "metrics.serviceMonitor needs metrics.service.enabled: it selects that Service" }}
{{- end }}
{{- $flags := list "--listen" "--admin-listen" "--peers" "--namespace" "--dns" "--poll-interval" "--pod-timeout" "--max-polls" "--max-pod-bytes" "--max-pod-groups" "--max-group-bytes" "--max-group-labels" "--max-label-bytes" "--max-document-bytes" "--log-level" "--pod-scheme" "--pod-ca" "--pod-cert" "--pod-key" "--pod-server-name" "--tls-cert" "--tls-key" "--client-ca" "--bearer-token-file" }}
{{- range .Values.extraArgs }}
{{- $flag := regexFind "^--[a-z0-9-]+" . }}
{{- if has $flag $flags }}
{{- fail (printf "extraArgs: %s is set by a value of this chart: see values.yaml" $flag) }}
{{- end }}
{{- end }}
{{- $volumes := list "tls" "client-ca" "token" "pods" }}
{{- range .Values.extraVolumes }}
{{- if has .name $volumes }}
{{- fail (printf "extraVolumes: %s is the name of a volume of this chart: choose another one" .name) }}
{{- end }}
{{- end }}
{{- end }}
