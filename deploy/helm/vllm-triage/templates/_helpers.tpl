{{- define "vllm-triage.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "vllm-triage.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "vllm-triage.name" .) .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "vllm-triage.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "vllm-triage.selector" -}}
app.kubernetes.io/name: {{ include "vllm-triage.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "vllm-triage.labels" -}}
{{ include "vllm-triage.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "vllm-triage.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "vllm-triage.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "vllm-triage.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* What cannot work is refused here, not by a pod that never gets ready. */}}
{{- define "vllm-triage.check" -}}
{{- $several := or .Values.autoscaling.enabled (gt (int .Values.replicaCount) 1) }}
{{- if and $several .Values.persistence.enabled }}
{{- fail "several replicas cannot share a SQLite file: put VLLM_TRIAGE_DATABASE (postgresql://…) into the secret and set persistence.enabled=false" }}
{{- end }}
{{- if not (or .Values.secret.existing (eq (toString .Values.settings.require_key) "no")) }}
{{- fail "secret.existing: name a Secret with VLLM_TRIAGE_API_KEYS, or set settings.require_key to \"no\"" }}
{{- end }}
{{- if not (or .Values.persistence.enabled .Values.secret.existing (eq (toString .Values.settings.database) "none")) }}
{{- fail "no place for the history: persistence.enabled=true, a secret with VLLM_TRIAGE_DATABASE, or settings.database=none" }}
{{- end }}
{{- end }}
