{{/* What cannot work, or would be lost without a word, is refused here with the next step. */}}
{{- define "rollcall.check" -}}
{{- if ne .Release.Namespace "kube-system" }}
{{- fail "namespace: must be kube-system, because the admission policies and the controller name both accounts with it: helm install --namespace kube-system" }}
{{- end }}
{{- $account := dig "name" "" (.Values.serviceAccount | default dict) }}
{{- if not (has $account (list "" "cloud-controller-manager" "rollcall-controller")) }}
{{- fail (printf "serviceAccount.name: %q cannot be used, because the admission policies know the controller as rollcall-controller; leave it out" $account) }}
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
{{- fail (printf "daemonset.%s: has no effect here, because the Pod is not the CPI's; leave it out, docs/helm.md says what to do instead" $key) }}
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
{{- range $key, $value := omit $group "enabled" "secret" "nodes" "requireAllFamilies" }}
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

{{/* The objects of a file of Rollcall's manifests, which are the chart's own: .file. */}}
{{- define "rollcall.objects" -}}
{{- $objects := list }}
{{- range splitList "\n---\n" (.root.Files.Get .file) }}
{{- $objects = append $objects (fromYaml .) }}
{{- end }}
{{- dict "objects" $objects | toYaml }}
{{- end }}
