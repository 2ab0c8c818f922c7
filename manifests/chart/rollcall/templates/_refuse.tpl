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
