{{/* What cannot work, or would be lost without a word, is refused here with the next step. */}}
{{- define "rollcall.check" -}}
{{- if eq (include "rollcall.account" .) "rollcall-agent" }}
{{- fail "serviceAccount.name: rollcall-agent is the account of the agents; give the controller another one" }}
{{- end }}
{{- if eq (include "rollcall.account" .) "default" }}
{{- fail "serviceAccount.name: default is the account of every Pod that names none, and they would have the controller's rights; give the controller another one" }}
{{- end }}
{{- range .Values.controller.extraArgs }}
{{- if has (regexFind `^--[^=]*` .) (list "--config" "--cloud-config" "--identity" "--listen" "--lease-name" "--lease-namespace") }}
{{- fail (printf "controller.extraArgs: %s cannot be given, because the chart's Pods, probes and rights depend on it; leave it out" (regexFind `^--[^=]*` .)) }}
{{- end }}
{{- end }}
{{- if or (eq (toString (dig "create" true (.Values.serviceAccount | default dict))) "false") (eq (toString (dig "create" true (.Values.rbac | default dict))) "false") }}
{{- fail "serviceAccount.create, rbac.create: cannot be false, because the rights are part of what keeps reports from being forged; render with helm template and apply the parts yourself" }}
{{- end }}
{{- if dig "enabled" false (.Values.podSecurityPolicy | default dict) }}
{{- fail "podSecurityPolicy.enabled: no supported Kubernetes has PodSecurityPolicy; leave it out" }}
{{- end }}
{{- if or .Values.nameOverride .Values.fullnameOverride }}
{{- fail "nameOverride, fullnameOverride: names are fixed, for policies and rights name them; leave them out" }}
{{- end }}
{{- /* The CPI's own, in a copy of its whole values: the controller's Pods have as much. */}}
{{- $defaults := dict "tolerations" `[{"effect":"NoSchedule","key":"node.cloudprovider.kubernetes.io/uninitialized","value":"true"},{"effect":"NoSchedule","key":"node-role.kubernetes.io/control-plane","operator":"Exists"},{"effect":"NoSchedule","key":"node.kubernetes.io/not-ready","operator":"Exists"},{"effect":"NoExecute","key":"CriticalAddonsOnly","operator":"Exists"}]` "affinity" `{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"node-role.kubernetes.io/control-plane","operator":"Exists"}]}]}}}` }}
{{- range $key, $value := (.Values.daemonset | default dict) }}
{{- if and (has $key (list "extraVolumes" "extraVolumesMounts" "extraVolumeMounts" "hostAliases" "tolerations" "affinity" "podAnnotations" "podLabels")) $value (ne (toJson $value) (get $defaults $key)) }}
{{- $instead := ternary (printf "give controller.%s instead" $key) "docs/helm.md says what to do instead" (has $key (list "tolerations" "affinity" "podAnnotations")) }}
{{- fail (printf "daemonset.%s: has no effect here, because the Pod is not the CPI's; leave it out, %s" $key $instead) }}
{{- else if and (eq $key "cmdline") (dig "additionalParams" nil $value) }}
{{- fail "daemonset.cmdline.additionalParams: the chart starts rollcall-controller by its own arguments; leave it out, and write what you need into vsphere.conf (docs/command-line.md has each of the CPI's flags)" }}
{{- end }}
{{- end }}
{{- $config := include "rollcall.config" . | fromYaml }}
{{- if $config.enabled }}
{{- range $key := list "vcenter" "datacenter" }}
{{- if not (get $config $key) }}{{ fail (printf "config.%s: is empty, and config.enabled is true; give it as in the CPI's chart" $key) }}{{ end }}
{{- end }}
{{- if $config.secret.create }}
{{- range $key := list "username" "password" }}
{{- if not (get $config $key) }}{{ fail (printf "config.%s: is empty; give it, or set config.secret.create=false where the Secret config.secret.name is there already" $key) }}{{ end }}
{{- end }}
{{- end }}
{{- if $config.caFile }}
{{- fail "config.caFile: the chart mounts no file but the Secret of vsphere.conf; make that Secret yourself, with the CA as a key of it and caFile: /etc/rollcall/KEY (configSecret), or give config.thumbprint" }}
{{- end }}
{{- end }}
{{- end }}

{{/* "config" with "global.config" over it, as the CPI's chart reads them. */}}
{{- define "rollcall.config" -}}
{{- $config := mergeOverwrite (deepCopy .Values.config) (dig "config" dict (.Values.global | default dict)) }}
{{- range $group := list $config ($config.nodes | default dict) }}
{{- range $key, $value := omit $group "enabled" "secret" "nodes" "requireAllFamilies" "labelRules" }}
{{- /* YAML reads 0123 as 83, and no as false. */}}
{{- if or (kindIs "bool" $value) (and (has $key (list "username" "password")) (not (kindIs "string" $value))) }}
{{- fail (printf "config.%s: is not text; put it in quotes" $key) }}
{{- end }}
{{- $_ := set $group $key (include "rollcall.text" $value) }}
{{- end }}
{{- end }}
{{- $config | toYaml }}
{{- end }}

{{/*
A value as the text that the CPI's chart makes of it, by putting it into YAML as it is: without the quotes around it, and of a
number its digits.
*/}}
{{- define "rollcall.text" -}}
{{- if kindIs "invalid" . }}
{{- else if not (kindIs "string" .) }}
{{- toJson . }}
{{- else if regexMatch `^('[^']*(''[^']*)*'|"([^"\\]|\\.)*")$` . }}
{{- $read := fromYaml (printf "text: %s" .) }}
{{- if hasKey $read "text" }}{{ $read.text }}{{ else }}{{ . }}{{ end }}
{{- else }}
{{- . }}
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
