/** The environment of a container, as far as its Pod's template says it, and what `$(NAME)` in its arguments becomes. */
import * as v from 'valibot'
import { Secret } from '../../config/secret.ts'

const reference = v.nullish(v.object({ name: v.optional(v.string(), '') }))
const keyReference = v.nullish(v.object({ name: v.optional(v.string(), ''), key: v.string() }))

/** Of a container in a Pod's template. */
export const ENVIRONMENT = {
  env: v.nullish(
    v.array(
      v.object({
        name: v.string(),
        value: v.nullish(v.string(), ''),
        valueFrom: v.nullish(v.object({ configMapKeyRef: keyReference, secretKeyRef: keyReference })),
      }),
    ),
    [],
  ),
  envFrom: v.nullish(
    v.array(v.object({ prefix: v.nullish(v.string(), ''), configMapRef: reference, secretRef: reference })),
    [],
  ),
}
const Environment = v.object(ENVIRONMENT)

/** A ConfigMap or a Secret of the Pod's namespace. */
export interface VariableSource {
  readonly kind: 'ConfigMap' | 'Secret'
  readonly name: string
}

/** The contents of ConfigMaps and Secrets that were read, by `ConfigMap cpi`. */
export type ReadSources = ReadonlyMap<string, ReadonlyMap<string, Secret>>

/** What a person calls it, and its key in {@link ReadSources}. */
export function sourceText({ kind, name }: VariableSource): string {
  return `${kind} ${name}`
}

/** Of equal names the last counts, and `env` more than `envFrom`. */
export function containerEnvironment(
  { env, envFrom }: v.InferOutput<typeof Environment>,
  read: ReadSources,
): {
  /** By name; undefined where the value is not known. */
  readonly variables: ReadonlyMap<string, Secret | undefined>
  /** The values that may be put into arguments, which are shown: those that come from no Secret. */
  readonly shown: ReadonlyMap<string, string>
  /** Every ConfigMap and Secret that was not read. */
  readonly unread: readonly VariableSource[]
  /** Those of them that give it variables of names that are not known. */
  readonly unreadWhole: readonly VariableSource[]
} {
  const variables = new Map<string, Secret | undefined>()
  const shown = new Map<string, string>()
  const unread: VariableSource[] = []
  const unreadWhole: VariableSource[] = []
  const set = (name: string, value: Secret | undefined, isSecret: boolean) => {
    variables.set(name, value)
    if (value === undefined || isSecret) shown.delete(name)
    else shown.set(name, value.reveal())
  }
  for (const { prefix, configMapRef, secretRef } of envFrom ?? [])
    for (const source of sourcesOf(configMapRef, secretRef)) {
      const contents = read.get(sourceText(source))
      if (contents === undefined) unreadWhole.push(source)
      for (const [key, value] of contents ?? []) set(`${prefix ?? ''}${key}`, value, source.kind === 'Secret')
    }
  for (const { name, value, valueFrom } of env ?? []) {
    const { configMapKeyRef, secretKeyRef } = valueFrom ?? {}
    const [source] = sourcesOf(configMapKeyRef, secretKeyRef)
    const contents = source && read.get(sourceText(source))
    if (source !== undefined && contents === undefined) unread.push(source)
    const key = (configMapKeyRef ?? secretKeyRef)?.key ?? ''
    const text = valueFrom ? contents?.get(key) : new Secret(expand(value ?? '', shown))
    set(name, text, source?.kind === 'Secret')
  }
  return { variables, shown, unread: [...unreadWhole, ...unread], unreadWhole }
}

function sourcesOf(
  configMap: { readonly name: string } | null | undefined,
  secret: { readonly name: string } | null | undefined,
): readonly VariableSource[] {
  return [
    ...(configMap ? [{ kind: 'ConfigMap', name: configMap.name } as const] : []),
    ...(secret ? [{ kind: 'Secret', name: secret.name } as const] : []),
  ]
}

/** As the kubelet does: `$(NAME)` becomes the value, `$$` a dollar sign, and a name that is not known stays as it is. */
export function expand(text: string, values: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\$(?:\$|\(([\w.-]+)\))/g, (whole, name?: string) =>
    name === undefined ? '$' : (values.get(name) ?? whole),
  )
}

/** As a shell does: `$NAME` and `${NAME}` become the value. One that is not known, `$(NAME)` included, becomes `$NAME`. */
export function expandInShell(script: string, values: ReadonlyMap<string, string>): string {
  return script.replaceAll(
    /\$(?:\((\w+)\)|\{(\w+)\}|(\w+))/g,
    (_, inKubelet?: string, inBraces?: string, plain?: string) => {
      const name = inKubelet ?? inBraces ?? plain ?? ''
      return (inKubelet === undefined ? values.get(name) : undefined) ?? `$${name}`
    },
  )
}
