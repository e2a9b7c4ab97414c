{{/* Name of the chart, for labels. */}}
{{- define "agentry.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Name of the objects. A release called agentry has that name and no other. There is room for the longest suffix. */}}
{{- define "agentry.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 46 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 46 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "agentry.adminServiceName" -}}
{{ include "agentry.fullname" . }}-admin
{{- end }}

{{- define "agentry.consoleName" -}}
{{ include "agentry.fullname" . }}-console
{{- end }}

{{/* Whether an Ingress or HTTPRoute leads to the console. */}}
{{- define "agentry.consoleRouted" -}}
{{- if or .Values.admin.ingress.enabled .Values.admin.httpRoute.enabled }}true{{ end }}
{{- end }}

{{- define "agentry.adminPortName" -}}
{{- if .Values.admin.tls.secretName }}https-admin{{ else }}http-admin{{ end }}
{{- end }}

{{- define "agentry.configMapName" -}}
{{- .Values.existingConfigMap | default (printf "%s-pipelines" (include "agentry.fullname" .)) }}
{{- end }}

{{/* Name of the volume of a Secret of `secrets`: a DNS label, however long the Secret's name is. */}}
{{- define "agentry.secretVolume" -}}
secret-{{ . | sha256sum | trunc 12 }}
{{- end }}

{{/* Labels that select pods. They cannot change in an upgrade. Takes root and component. */}}
{{- define "agentry.selectorLabels" -}}
app.kubernetes.io/name: {{ include "agentry.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/*
Labels of an object, those of everyone and .extra; ours win, because selectors depend on them. Takes root, component and
extra.
*/}}
{{- define "agentry.labels" -}}
{{- $ours := include "agentry.selectorLabels" . | fromYaml }}
{{- $_ := set $ours "app.kubernetes.io/part-of" "agentry" }}
{{- $_ := set $ours "app.kubernetes.io/managed-by" .root.Release.Service }}
{{- $_ := set $ours "app.kubernetes.io/version" (regexReplaceAll "[^A-Za-z0-9_.-]" (default .root.Chart.AppVersion .root.Values.image.tag) "-" | trunc 63 | trimAll "-_.") }}
{{- $_ := set $ours "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimAll "-_.") }}
{{- mustMergeOverwrite (dict) (default (dict) .root.Values.commonLabels) (default (dict) (get . "extra")) $ours | toYaml }}
{{- end }}

{{/* Labels of pods, without those that change with each version of the chart and would restart pods needlessly. */}}
{{- define "agentry.podLabels" -}}
{{- $ours := include "agentry.selectorLabels" . | fromYaml }}
{{- mustMergeOverwrite (dict) (default (dict) .root.Values.commonLabels) (default (dict) (get . "extra")) $ours | toYaml }}
{{- end }}

{{/* Annotations of pods. Takes root and container, which commands such as kubectl logs mean. */}}
{{- define "agentry.podAnnotations" -}}
{{- mustMergeOverwrite (dict "kubectl.kubernetes.io/default-container" .container) (default (dict) .root.Values.podAnnotations) | toYaml }}
{{- end }}

{{/* The field annotations, if there are any. Takes root and extra. */}}
{{- define "agentry.annotations" -}}
{{- with mustMergeOverwrite (dict) (default (dict) .root.Values.commonAnnotations) (default (dict) (get . "extra")) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "agentry.serviceAccountName" -}}
{{- with .Values.serviceAccount }}
{{- .name | default (ternary (include "agentry.fullname" $) "default" .create) }}
{{- end }}
{{- end }}

{{- define "agentry.image" -}}
{{- with .Values.image }}
{{- with .registry }}{{ . }}/{{ end }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ with .digest }}@{{ . }}{{ end }}
{{- end }}
{{- end }}

{{- define "agentry.tlsEnabled" -}}
{{- if or .Values.tls.secretName .Values.tls.certManager.enabled }}true{{ end }}
{{- end }}

{{- define "agentry.tlsSecretName" -}}
{{- .Values.tls.secretName | default (printf "%s-tls" (include "agentry.fullname" .)) }}
{{- end }}

{{- define "agentry.portName" -}}
{{- if include "agentry.tlsEnabled" . }}https{{ else }}http{{ end }}
{{- end }}

{{/* Nine tenths of a memory limit in Mi or Gi, for GOMEMLIMIT; nothing for other units. Takes resources. */}}
{{- define "agentry.goMemLimit" -}}
{{- $limit := dig "limits" "memory" "" (default (dict) .) | toString }}
{{- if regexMatch "^[1-9][0-9]{0,5}(Mi|Gi)$" $limit }}
{{- $mebibytes := regexFind "^[0-9]+" $limit | int64 }}
{{- if hasSuffix "Gi" $limit }}{{ $mebibytes = mul $mebibytes 1024 }}{{ end }}
{{- div (mul $mebibytes 9) 10 }}MiB
{{- end }}
{{- end }}

{{/* Environment of a container. Takes resources and extra. */}}
{{- define "agentry.env" -}}
{{- $limit := include "agentry.goMemLimit" .resources }}
{{- $set := false }}
{{- range .extra }}{{ if eq .name "GOMEMLIMIT" }}{{ $set = true }}{{ end }}{{ end }}
{{- if or .extra .traces (and $limit (not $set)) }}
env:
  {{- if and $limit (not $set) }}
  - name: GOMEMLIMIT
    value: {{ $limit }}
  {{- end }}
  {{- with .traces }}
  - name: OTEL_EXPORTER_OTLP_ENDPOINT
    value: {{ . | quote }}
  {{- end }}
  {{- with .extra }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* The port of traces.endpoint. */}}
{{- define "agentry.tracesPort" -}}
{{- $at := urlParse .Values.traces.endpoint }}
{{- regexFind ":[0-9]+$" $at.host | trimPrefix ":" | default (ternary "443" "80" (eq $at.scheme "https")) }}
{{- end }}

{{/* Scheduling of pods. */}}
{{- define "agentry.scheduling" -}}
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
{{- define "agentry.spread" -}}
{{- with .root.Values.topologySpreadConstraints }}
{{- $constraints := list }}
{{- range . }}
{{- $constraint := deepCopy . }}
{{- if not (get . "labelSelector") }}
{{- $_ := set $constraint "labelSelector" (dict "matchLabels" (include "agentry.selectorLabels" $ | fromYaml)) }}
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
{{- define "agentry.validate" -}}
{{- $name := include "agentry.fullname" . }}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) }}
{{- fail (printf "%q cannot be the name of a Service, which begins with a letter and has no dots: name the release otherwise, or set fullnameOverride" $name) }}
{{- end }}
{{- with .Values.updateStrategy }}
{{- $changes := printf "%v %v" (dig "rollingUpdate" "maxSurge" "" .) (dig "rollingUpdate" "maxUnavailable" "" .) }}
{{- if and (ne (get . "type") "Recreate") (regexMatch "^0+%? 0+%?$" $changes) }}
{{- fail "updateStrategy.rollingUpdate: maxSurge and maxUnavailable must not both be 0, which allows no update" }}
{{- end }}
{{- end }}
{{- if and .Values.pipelines .Values.existingConfigMap }}
{{- fail "existingConfigMap replaces `pipelines`: leave one of them empty" }}
{{- end }}
{{- if not (or .Values.pipelines .Values.existingConfigMap) }}
{{- fail "no pipelines: set `pipelines` or existingConfigMap" }}
{{- end }}
{{- if not .Values.admin.token.secretName }}
{{- fail "admin.token.secretName is needed: a Secret with the token for the console, the API and the metrics, such as `kubectl create secret generic agentry-admin --from-literal=token=...`" }}
{{- end }}
{{- if eq (int .Values.admin.port) 9292 }}
{{- fail "admin.port must not be 9292, where agentry listens for webhooks" }}
{{- end }}
{{- if and .Values.tls.certManager.enabled (not (get .Values.tls.certManager.issuerRef "name")) }}
{{- fail "tls.certManager.issuerRef.name is needed: the Issuer or ClusterIssuer that signs the certificate" }}
{{- end }}
{{- if and (or .Values.ingress.enabled .Values.httpRoute.enabled (include "agentry.tlsEnabled" .)) (not .Values.webhooks.enabled) }}
{{- fail "ingress, httpRoute and tls are for webhooks: set webhooks.enabled" }}
{{- end }}
{{- if and .Values.delivery.token.secretName (not .Values.webhooks.enabled) }}
{{- fail "delivery.token is for reports, which come to the address of webhooks: set webhooks.enabled" }}
{{- end }}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) }}
{{- fail "ingress.host is needed: the name that the forges call" }}
{{- end }}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) }}
{{- fail "httpRoute.parentRefs is needed: the Gateway to attach to" }}
{{- end }}
{{- if and .Values.admin.ingress.enabled (not .Values.admin.ingress.host) }}
{{- fail "admin.ingress.host is needed: the name at which people open the console" }}
{{- end }}
{{- if and .Values.admin.httpRoute.enabled (not .Values.admin.httpRoute.parentRefs) }}
{{- fail "admin.httpRoute.parentRefs is needed: the Gateway to attach to" }}
{{- end }}
{{- if and .Values.admin.httpRoute.enabled (not .Values.admin.httpRoute.hostnames) }}
{{- fail "admin.httpRoute.hostnames is needed: otherwise the console is at each host name of the Gateway" }}
{{- end }}
{{- if and (include "agentry.consoleRouted" .) .Values.leases.enabled (gt (int .Values.replicas) 1) }}
{{- fail "admin.ingress and admin.httpRoute need `replicas: 1`: the console of a passive replica does not know the state of the pipelines" }}
{{- end }}
{{- if and .Values.cache.storageClassName (ne .Values.cache.type "ephemeral") }}
{{- fail "cache.storageClassName has no effect with emptyDir: set cache.type to ephemeral" }}
{{- end }}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.service.enabled) }}
{{- fail "metrics.serviceMonitor needs metrics.service.enabled: it selects that Service" }}
{{- end }}
{{- $now := now }}
{{- $killed := mustDateModify (printf "%ds" (default 30 .Values.terminationGracePeriodSeconds | int64)) $now }}
{{- if not ($killed.After (mustDateModify (default "20s" .Values.shutdownGrace) $now)) }}
{{- fail "terminationGracePeriodSeconds must be more than shutdownGrace: a replica that is killed earlier cannot end its passes" }}
{{- end }}
{{- range .Values.extraEnv }}
{{- if and $.Values.traces.endpoint (has .name (list "OTEL_EXPORTER_OTLP_ENDPOINT" "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")) }}
{{- fail (printf "extraEnv: %s duplicates traces.endpoint: leave one of them out" .name) }}
{{- end }}
{{- end }}
{{- $flags := list "--file" "--cache-dir" "--listen" "--delivery-token-file" "--tls-cert" "--tls-key" "--max-webhook-size" "--admin-listen" "--admin-tls-cert" "--admin-tls-key" "--bearer-token-file" "--workers" "--memory" "--interval-jitter" "--shutdown-grace" "--log-format" "--log-level" "--replicas-namespace" "--replicas-name" }}
{{- range .Values.extraArgs }}
{{- $flag := regexFind "^--[a-z0-9-]+" . }}
{{- if has $flag $flags }}
{{- fail (printf "extraArgs: %s is set by a value of this chart: see values.yaml" $flag) }}
{{- end }}
{{- end }}
{{- $volumes := list "pipelines" "cache" "admin-token" "delivery-token" "admin-tls" "tls" }}
{{- range .Values.secrets }}{{ $volumes = append $volumes (include "agentry.secretVolume" .) }}{{ end }}
{{- range .Values.extraVolumes }}
{{- if has .name $volumes }}
{{- fail (printf "extraVolumes: %s is the name of a volume of this chart: choose another one" .name) }}
{{- end }}
{{- end }}
{{- end }}
