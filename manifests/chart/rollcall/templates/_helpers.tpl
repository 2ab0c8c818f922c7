{{/* "config" with "global.config" over it, as the CPI's chart reads them. */}}
{{- define "rollcall.config" -}}
{{- $config := mergeOverwrite (deepCopy .Values.config) (dig "config" dict (.Values.global | default dict)) }}
{{- range $group := list $config ($config.nodes | default dict) }}
{{- range $key, $value := omit $group "enabled" "secret" "nodes" "requireAllFamilies" "labelRules" }}
{{- /* YAML reads 0123 as 83, and no as false. */}}
{{- $isCredential := has $key (list "username" "password") }}
{{- if or (kindIs "bool" $value) (and $isCredential (not (kindIs "string" $value))) }}
{{- fail (printf "config.%s: is not text; put it in quotes, or give it by --set-string" $key) }}
{{- end }}
{{- /* The CPI's chart quotes these two: what is around them is a part of them. */}}
{{- if not $isCredential }}{{ $_ := set $group $key (include "rollcall.text" $value) }}{{ end }}
{{- end }}
{{- end }}
{{- $_ := set $config.secret "name" (include "rollcall.text" $config.secret.name) }}
{{- $config | toYaml }}
{{- end }}

{{/*
A value as the text that the CPI's chart makes of it, by putting it into YAML as it is: without white space and quotes around it,
and of a number its digits.
*/}}
{{- define "rollcall.text" -}}
{{- if kindIs "invalid" . }}
{{- else if not (kindIs "string" .) }}
{{- toJson . }}
{{- else }}
{{- $text := trim . }}
{{- $read := dict }}
{{- if regexMatch `^('[^']*(''[^']*)*'|"([^"\\]|\\.)*")$` $text }}{{ $read = fromYaml (printf "text: %s" $text) }}{{ end }}
{{- if hasKey $read "text" }}{{ $read.text }}{{ else }}{{ $text }}{{ end }}
{{- end }}
{{- end }}

{{/* The controller's account. The CPI's default means ours: two programs with one account would have the rights of both. */}}
{{- define "rollcall.account" -}}
{{- $name := dig "name" "" (.Values.serviceAccount | default dict) | default "" }}
{{- ternary "rollcall-controller" $name (has $name (list "" "cloud-controller-manager")) }}
{{- end }}

{{/* The objects of a file of Rollcall's manifests, which are the chart's own: .file. Policies name the accounts in expressions. */}}
{{- define "rollcall.objects" -}}
{{- $objects := list }}
{{- $namespace := .root.Release.Namespace }}
{{- $text := .root.Files.Get .file }}
{{- $text = replace "system:serviceaccount:kube-system:rollcall-controller" (printf "system:serviceaccount:%s:%s" $namespace (include "rollcall.account" .root)) $text }}
{{- $text = replace "system:serviceaccount:kube-system:rollcall-agent" (printf "system:serviceaccount:%s:rollcall-agent" $namespace) $text }}
{{- $text = replace "kube-system/rollcall-agent" (printf "%s/rollcall-agent" $namespace) $text }}
{{- range splitList "\n---\n" $text }}
{{- $objects = append $objects (fromYaml .) }}
{{- end }}
{{- dict "objects" $objects | toYaml }}
{{- end }}

{{/*
Moves an object, .object, to the namespace of the release, .root, and to the controller's account there. What is about the objects
of another namespace stays in that: Leases, Events, the CPI.
*/}}
{{- define "rollcall.place" -}}
{{- $namespace := .root.Release.Namespace }}
{{- $account := include "rollcall.account" .root }}
{{- with .object }}
{{- if or (has .kind (list "ServiceAccount" "Deployment" "DaemonSet" "PodDisruptionBudget")) (eq .metadata.name "rollcall-policy-proof") }}
{{- $_ := set .metadata "namespace" $namespace }}
{{- end }}
{{- range append (.subjects | default list) (ternary .metadata (dict) (eq .kind "ServiceAccount")) }}
{{- if hasKey . "namespace" }}{{ $_ := set . "namespace" $namespace }}{{ end }}
{{- if eq (.name | default "") "rollcall-controller" }}{{ $_ := set . "name" $account }}{{ end }}
{{- end }}
{{- if eq .kind "Deployment" }}{{ $_ := set .spec.template.spec "serviceAccountName" $account }}{{ end }}
{{- end }}
{{- end }}

{{/* Puts what the values, .values, say of Pods into their template, .template. What keeps them in their place stays. */}}
{{- define "rollcall.pods" -}}
{{- $pods := .template.spec }}
{{- $container := index $pods.containers 0 }}
{{- with .values }}
{{- $_ := set $container "image" .image }}
{{- if .resources }}{{ $_ := mergeOverwrite $container.resources (deepCopy .resources) }}{{ end }}
{{- if .nodeSelector }}{{ $_ := set $pods "nodeSelector" (merge (deepCopy .nodeSelector) ($pods.nodeSelector | default dict)) }}{{ end }}
{{- if .priorityClassName }}{{ $_ := set $pods "priorityClassName" .priorityClassName }}{{ end }}
{{- if .podAnnotations }}{{ $_ := set $.template.metadata "annotations" .podAnnotations }}{{ end }}
{{- if .extraArgs }}{{ $_ := set $container "args" (concat ($container.args | default list) .extraArgs) }}{{ end }}
{{- if .affinity }}
{{- $own := dig "nodeAffinity" "requiredDuringSchedulingIgnoredDuringExecution" "nodeSelectorTerms" list ($pods.affinity | default dict) }}
{{- $affinity := deepCopy .affinity }}
{{- if $own }}
{{- $mine := (index $own 0).matchExpressions }}
{{- $terms := list }}
{{- range dig "nodeAffinity" "requiredDuringSchedulingIgnoredDuringExecution" "nodeSelectorTerms" (list dict) .affinity }}
{{- $terms = append $terms (set (deepCopy .) "matchExpressions" (concat $mine (.matchExpressions | default list))) }}
{{- end }}
{{- $_ := mergeOverwrite $affinity (dict "nodeAffinity" (dict "requiredDuringSchedulingIgnoredDuringExecution" (dict "nodeSelectorTerms" $terms))) }}
{{- end }}
{{- $_ := set $pods "affinity" $affinity }}
{{- end }}
{{- end }}
{{- end }}
