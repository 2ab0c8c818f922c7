import { type Manifest, manifestFiles, readManifests } from '../../test/servers/manifests.ts'

export interface Rule {
  apiGroups?: string[]
  resources?: string[]
  resourceNames?: string[]
  verbs: string[]
  nonResourceURLs?: string[]
}

interface Subject {
  kind: string
  name: string
  namespace?: string
}

/** Either kind of role, and either kind of binding. */
export type RbacObject = Manifest & {
  rules?: Rule[]
  roleRef?: { kind: string; name: string }
  subjects?: Subject[]
  aggregationRule?: object
}

/** One verb on one resource. */
export interface GrantedRight {
  /** As `kube-system/rollcall-agent` or `system:nodes`. */
  who: string
  verb: string
  /** As kubectl names it: `nodereports.rollcall.dev/status`. */
  on: string
  /** Of the one object that it is limited to. */
  name?: string
  /** The cluster where there is none. */
  namespace?: string
}

/** The roles and bindings of the manifests, and those of the component that lets the controller approve certificates. */
export async function rbacObjects(): Promise<RbacObject[]> {
  const files = [...(await manifestFiles()), CERTIFICATES_RBAC]
  const objects = await Promise.all(files.map(readManifests))
  return objects.flat().filter(({ apiVersion }) => apiVersion.startsWith('rbac.authorization.k8s.io/'))
}

/** Relative to `manifests/base/`. */
export const CERTIFICATES_RBAC = '../components/approve-certificates/rbac.yaml'

const isRole = ({ kind }: Manifest) => kind === 'Role' || kind === 'ClusterRole'

/** The role that a binding refers to; undefined where the manifests have none of that name. */
function roleOf(binding: RbacObject, objects: readonly RbacObject[]): RbacObject | undefined {
  const namespace = binding.roleRef?.kind === 'Role' ? binding.metadata.namespace : undefined
  return objects.find(
    ({ kind, metadata }) =>
      kind === binding.roleRef?.kind &&
      metadata.name === binding.roleRef.name &&
      metadata.namespace === namespace,
  )
}

/** What the bindings give, right by right. */
export function rightsOf(objects: readonly RbacObject[]): GrantedRight[] {
  return objects
    .filter((object) => !isRole(object))
    .flatMap((binding) =>
      (binding.subjects ?? []).flatMap((subject) =>
        (roleOf(binding, objects)?.rules ?? []).flatMap((rule) =>
          flat(rule).map((right) => ({ who: nameOf(subject), ...right, ...within(binding) })),
        ),
      ),
    )
}

const within = ({ metadata: { namespace } }: Manifest) => (namespace === undefined ? {} : { namespace })

/** A rule, right by right. */
export function flat(rule: Rule): Omit<GrantedRight, 'who' | 'namespace'>[] {
  const names = rule.resourceNames?.length ? rule.resourceNames.map((name) => ({ name })) : [{}]
  return (rule.apiGroups ?? []).flatMap((group) =>
    (rule.resources ?? []).flatMap((resource) =>
      rule.verbs.flatMap((verb) => names.map((name) => ({ verb, on: qualified(group, resource), ...name }))),
    ),
  )
}

function qualified(group: string, resource: string): string {
  const [plural, ...subresource] = resource.split('/')
  return [group === '' ? plural : `${plural}.${group}`, ...subresource].join('/')
}

function nameOf({ kind, name, namespace }: Subject): string {
  return kind === 'ServiceAccount' ? `${namespace}/${name}` : name
}

/** As `kube-system/rollcall-agent may create nodereports.rollcall.dev in the cluster`. */
export function sentence({ who, verb, on, name, namespace }: GrantedRight): string {
  return `${who} may ${verb} ${on}${name === undefined ? '' : ` ${name}`} in ${namespace ?? 'the cluster'}`
}

/** One for each, in an order of its own. */
export function sentences(rights: readonly GrantedRight[]): string[] {
  return rights.map(sentence).sort()
}

export interface Expected {
  /** Rights that would be too wide elsewhere, as {@link sentence} says them. */
  deliberate: readonly string[]
  /** Subjects of each binding, by kind, namespace and name. */
  subjects: Readonly<Record<string, readonly string[]>>
}

const AGENTS = ['kube-system/rollcall-agent', 'system:nodes']
const TO_AGENTS = ['create nodereports.rollcall.dev', 'patch nodereports.rollcall.dev']
/** Each of them makes other rights of what it is given. */
const POWERFUL = ['impersonate', 'escalate', 'bind']

/** What is wider than it may be, a sentence each. */
export function tooWide(objects: readonly RbacObject[], expected: Expected): string[] {
  const roles = objects.filter(isRole)
  const bindings = objects.filter((object) => !isRole(object))
  const rights = rightsOf(objects)
  const secrets = rights.filter(({ on }) => /^secrets(\/|$)/.test(on))
  return [
    ...roles.flatMap((role) =>
      (role.rules ?? []).flatMap(({ apiGroups, resources, resourceNames, verbs, nonResourceURLs }) =>
        Object.entries({ apiGroups, resources, resourceNames, verbs, nonResourceURLs })
          .filter(([, words]) => words?.some((word) => word.includes('*')))
          .map(([field]) => `${key(role)} has a wildcard in ${field}`),
      ),
    ),
    ...roles.filter(aggregates).map((role) => `${key(role)} takes part in aggregation`),
    ...secrets
      .filter(({ namespace }) => namespace === undefined)
      .map(({ who }) => `${who} has secrets in the whole cluster`),
    ...(new Set(secrets.map(({ namespace }) => namespace)).size > 1
      ? ['there are secrets in more than one namespace']
      : []),
    ...rights
      .filter(({ who, verb, on }) => AGENTS.includes(who) && !TO_AGENTS.includes(`${verb} ${on}`))
      .map((right) => `an agent has more than its report: ${sentence(right)}`),
    ...rights
      .filter(({ verb, on }) => POWERFUL.includes(verb) || on.endsWith('/token'))
      .map(sentence)
      .filter((line) => !expected.deliberate.includes(line))
      .map((line) => `a right that makes others of itself: ${line}`),
    ...bindings.flatMap((binding) => {
      const known = expected.subjects[key(binding)] ?? []
      return (binding.subjects ?? [])
        .map(nameOf)
        .filter((subject) => !known.includes(subject))
        .map((subject) => `${key(binding)} is bound to ${subject} as well`)
    }),
    ...bindings
      .filter((binding) => roleOf(binding, objects) === undefined)
      .map((binding) => `${key(binding)} refers to a role that is not in the manifests`),
  ]
}

/** Rights that come from, or go to, roles that these files do not show. */
function aggregates(role: RbacObject): boolean {
  const { labels } = role.metadata as { labels?: Record<string, string> }
  const aggregated = Object.keys(labels ?? {}).some((label) => label.includes('/aggregate-to-'))
  return aggregated || role.aggregationRule !== undefined
}

function key({ kind, metadata: { namespace, name } }: Manifest): string {
  return [kind, namespace, name].filter(Boolean).join(' ')
}
