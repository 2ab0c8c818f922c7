import { dirname, resolve } from 'node:path'
import type { Cluster, User } from '@kubernetes/client-node'
import * as v from 'valibot'
import { LineCounter, parseDocument } from 'yaml'
import { readRegularFile } from '../../agent/shared/regular-file.ts'
import { EXEC_VERSIONS, type ExecPluginOptions } from './exec-plugin.ts'

const MAX_BYTES = 1024 * 1024

const Named = v.array(v.looseObject({ name: v.string() }))
const Text = v.nullish(v.string(), '')
const Kubeconfig = v.object({
  'current-context': Text,
  contexts: v.nullish(Named, []),
  clusters: v.nullish(Named, []),
  users: v.nullish(Named, []),
})
const ContextEntry = v.object({ context: v.object({ cluster: Text, user: Text }) })
const ClusterEntry = v.object({
  cluster: v.object({
    server: Text,
    'certificate-authority': Text,
    'certificate-authority-data': Text,
    'tls-server-name': Text,
    'insecure-skip-tls-verify': v.nullish(v.boolean(), false),
    'proxy-url': Text,
    extensions: v.nullish(Named, []),
  }),
})
/** The name of the cluster's extension that is for exec plugins. */
const EXEC_EXTENSION = 'client.authentication.k8s.io/exec'
const ExecEntry = v.object({
  apiVersion: Text,
  command: Text,
  args: v.nullish(v.array(v.string()), []),
  env: v.nullish(v.array(v.object({ name: v.string(), value: v.string() })), []),
  interactiveMode: Text,
  provideClusterInfo: v.nullish(v.boolean(), false),
})
const UserEntry = v.object({
  user: v.nullish(
    v.object({
      'client-certificate': Text,
      'client-certificate-data': Text,
      'client-key': Text,
      'client-key-data': Text,
      token: Text,
      tokenFile: Text,
      username: Text,
      password: Text,
      as: Text,
      exec: v.nullish(ExecEntry),
      'auth-provider': v.nullish(
        v.object({ name: v.string(), config: v.nullish(v.record(v.string(), v.string()), {}) }),
      ),
    }),
    {},
  ),
})

/**
 * The cluster and the user of a context, by default of the kubeconfig's current one.
 *
 * client-node's own reader is not used because its parser's messages quote the file, which contains keys and tokens. No
 * error thrown here contains any of the text.
 *
 * @throws Error that names the file and the next step
 */
export function readKubeconfig(
  path: string,
  contextName?: string,
): { readonly cluster: Cluster; readonly user: User; readonly plugin: ExecPluginOptions | undefined } {
  const wrong = (what: string) => new Error(`the kubeconfig ${path} ${what}`)
  const config = shaped(Kubeconfig, readYAML(path, wrong), wrong)
  const wanted = contextName ?? config['current-context']
  const named = config.contexts.find(({ name }) => name === wanted)
  const { context } = named ? shaped(ContextEntry, named, wrong) : {}
  const cluster = config.clusters.find(({ name }) => name === context?.cluster)
  if (context === undefined || cluster === undefined) {
    throw wrong(
      contextName === undefined
        ? 'has no current context with a cluster: set current-context'
        : 'has no such context with a cluster: see kubectl config get-contexts',
    )
  }
  const user = config.users.find(({ name }) => name === context.user) ?? { name: context.user }
  const clusterFields = shaped(ClusterEntry, cluster, wrong).cluster
  const toServer = toCluster(cluster.name, clusterFields, path, wrong)
  const userFields = shaped(UserEntry, user, wrong).user
  return {
    cluster: toServer,
    user: toUser(user.name, userFields, path, wrong),
    plugin: toPlugin(userFields, { ...toServer, config: execConfig(clusterFields) }, path, wrong),
  }
}

type Wrong = (what: string) => Error

function readYAML(path: string, wrong: Wrong): unknown {
  let text: string
  try {
    text = readRegularFile(path, MAX_BYTES).toString('utf8')
  } catch (cause) {
    throw new Error(`cannot read the kubeconfig ${path}: check that the file is there and is a kubeconfig`, {
      cause,
    })
  }
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter, prettyErrors: false, logLevel: 'error' })
  const [error] = document.errors
  if (error !== undefined) {
    throw wrong(`is not YAML (${error.code} in line ${lineCounter.linePos(error.pos[0]).line}): correct it`)
  }
  try {
    return document.toJS({ maxAliasCount: 16 })
  } catch {
    // Its message quotes the alias, which may be a secret that begins with an asterisk.
    throw wrong(
      'has an alias (*) that names no anchor, or too many: put values with special characters in quotes',
    )
  }
}

function shaped<S extends v.GenericSchema>(schema: S, value: unknown, wrong: Wrong): v.InferOutput<S> {
  const parsed = v.safeParse(schema, value)
  if (parsed.success) return parsed.output
  // The issue's own message would quote the value.
  const place = v.getDotPath(parsed.issues[0])
  throw wrong(
    place === null
      ? 'is not a kubeconfig: check the path'
      : `has a wrong type of value at ${place}: correct it`,
  )
}

type ClusterFields = v.InferOutput<typeof ClusterEntry>['cluster']

function toCluster(name: string, fields: ClusterFields, path: string, wrong: Wrong): Cluster {
  const { server } = fields
  if (fields['proxy-url']) {
    throw wrong('has a proxy-url, which is not supported: name the API server directly')
  }
  if (fields['insecure-skip-tls-verify']) {
    throw wrong('has insecure-skip-tls-verify, which is not supported: name the CA in certificate-authority')
  }
  if (!URL.canParse(server) || new URL(server).protocol !== 'https:') {
    throw wrong('has a server that is not an https address: correct it')
  }
  return {
    name,
    server,
    skipTLSVerify: false,
    caData: fields['certificate-authority-data'],
    caFile: beside(path, fields['certificate-authority']),
    tlsServerName: fields['tls-server-name'],
  }
}

type UserFields = v.InferOutput<typeof UserEntry>['user']

function toUser(name: string, fields: UserFields, path: string, wrong: Wrong): User {
  const { token, tokenFile, username, exec, 'auth-provider': provider, as: impersonateUser } = fields
  const certData = fields['client-certificate-data']
  const certFile = beside(path, fields['client-certificate'])
  // The others would run a program on their own, and kubectl has dropped them.
  if (provider && provider.name !== 'oidc') {
    throw wrong('has an auth-provider other than oidc, which is not supported: use an exec plugin')
  }
  // client-node knows a token file by this name only. It reads it again when a minute old, as client-go does.
  const authProvider = tokenFile
    ? { name: 'tokenFile', config: { tokenFile: beside(path, tokenFile) } }
    : (provider ?? undefined)
  if (![certData, certFile, token, username, exec, authProvider].some(Boolean)) {
    throw wrong('has no credential for its current user: give it a client certificate or a token')
  }
  return {
    name,
    certData,
    certFile,
    keyData: fields['client-key-data'],
    keyFile: beside(path, fields['client-key']),
    token,
    username,
    password: fields.password,
    authProvider,
    ...(impersonateUser && { impersonateUser }),
  }
}

/** Undefined where there is none, or where there is another credential, which client-go prefers. */
function toPlugin(
  fields: UserFields,
  cluster: NonNullable<ExecPluginOptions['cluster']>,
  path: string,
  wrong: Wrong,
): ExecPluginOptions | undefined {
  const { exec, token, tokenFile, username } = fields
  const others = [token, tokenFile, username, fields['client-certificate'], fields['client-certificate-data']]
  if (!exec || others.some(Boolean)) return undefined
  const { command, args, env } = exec
  const apiVersion = EXEC_VERSIONS.find((each) => each === exec.apiVersion)
  if (apiVersion === undefined) {
    throw wrong(`has an exec plugin of another API version: make it one of ${EXEC_VERSIONS.join(', ')}`)
  }
  if (!command) throw wrong('has an exec plugin without a command: name one')
  if (exec.interactiveMode === 'Always') {
    throw wrong('has an exec plugin that asks a person (interactiveMode: Always): use one that does not')
  }
  return {
    kubeconfig: path,
    apiVersion,
    // Looked for in PATH if it has no slash.
    command: command.includes('/') ? beside(path, command) : command,
    args,
    env: Object.fromEntries(env.map(({ name, value }) => [name, value])),
    cluster: exec.provideClusterInfo ? cluster : undefined,
  }
}

function execConfig({ extensions }: ClusterFields): unknown {
  return extensions.find(({ name }) => name === EXEC_EXTENSION)?.extension
}

/** Paths are relative to the kubeconfig's folder; an empty path stays empty. */
function beside(path: string, file: string): string {
  return file && resolve(dirname(path), file)
}
