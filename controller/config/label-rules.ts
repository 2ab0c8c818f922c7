/** Reads `labelRules`: which labels are made of which tags, attributes and places in vCenter. Data, no expressions. */
import { didYouMean } from '../../agent/shared/did-you-mean.ts'
import { isLabelValue, MAX_RECORD, recordSize } from '../types/labels.ts'
import { BETA_LABELS, CONTROLLER_LABEL, LABEL_IDENTITY_LEVEL, OWN_PREFIX } from '../types/well-known.ts'
import { type LabelRule, type LabelSource, PLACES } from './config.ts'
import type { Findings } from './findings.ts'
import type { Given } from './given.ts'
import { isLabelKey } from './label-selector.ts'
import { spelling } from './settings/row.ts'
import { type ConfigTree, shape } from './tree.ts'

/** The key at the top of the file. */
export const LABEL_RULES = 'labelRules'

/** The settings of a rule, and of what it is made from. */
const RULE_KEYS = ['label', 'from', 'map', 'when'] as const
export const SOURCE_KEYS = ['tagCategory', 'attribute', ...PLACES] as const
export const WHEN = ['live', 'initialize'] as const

/** What a place's setting says: there is nothing else to choose. */
export const PLACE_VALUE = 'name'

/** What is wrong with a rule, which goes no further. */
class RuleError extends Error {
  readonly path: string
  readonly at: ConfigTree['at']

  constructor(path: string, { at }: Pick<ConfigTree, 'at'>, message: string) {
    super(message)
    this.path = path
    this.at = at
  }
}

/** Reads the rules. Wrong ones are left out, and are in the findings. */
export function readLabelRules(
  tree: ConfigTree | undefined,
  findings: Findings,
): readonly Given<LabelRule>[] {
  if (tree === undefined || (tree.kind === 'text' && tree.text === '' && !tree.bare)) return []
  if (tree.kind !== 'list') {
    const ini =
      tree.kind === 'map' && tree.ini === true ? '; INI has no lists, so write the file as YAML' : ''
    findings.refuse(LABEL_RULES, tree.at, `expected a list of rules, got ${shape(tree)}${ini}`)
    return []
  }
  const rules = new Map<string, Given<LabelRule>>()
  for (const [index, item] of tree.items.entries()) {
    const path = `${LABEL_RULES}[${index}]`
    try {
      const rule = readRule(item, path, findings)
      const { label } = rule.value
      if (rules.has(label)) findings.refuse(rule.path, rule.at, 'has a rule already: keep one for each label')
      else rules.set(label, rule)
      if (!label.startsWith(OWN_PREFIX)) findings.warn(rule.path, rule.at, beyondPrefix(label))
    } catch (error) {
      if (!(error instanceof RuleError)) throw error
      findings.refuse(error.path, error.at, error.message)
    }
  }
  if (recordSize(rules.keys()) > MAX_RECORD)
    findings.refuse(
      LABEL_RULES,
      tree.at,
      `has more labels than can be recorded on a Node (${MAX_RECORD} characters with their values): use fewer, or shorter names`,
    )
  return [...rules.values()]
}

function beyondPrefix(label: string): string {
  const name = label.split('/').at(-1) ?? label
  return `can be written by a kubelet on its own Node, and only Nodes that are initialized from now on get it: "${OWN_PREFIX}${name}" has neither limit`
}

function readRule(tree: ConfigTree, path: string, findings: Findings): Given<LabelRule> {
  const settings = settingsOf(tree, path, RULE_KEYS)
  const named = settings.get('label')
  const label = textIn(
    named,
    `${path}.label`,
    tree,
    'write the key of a Node label, as rollcall.node-restriction.kubernetes.io/rack',
  )
  const refusal = refusalOf(label)
  if (refusal !== undefined) throw new RuleError(`${path}.label`, named ?? tree, refusal)
  const from = settings.get('from')
  if (from === undefined)
    throw new RuleError(`${path}.from`, tree, `is missing: write one of ${SOURCE_KEYS.join(', ')} below it`)
  const written = settings.get('when')
  const when = written === undefined ? WHEN[0] : WHEN.find((each) => each === textOf(written))
  if (when === undefined)
    throw new RuleError(
      `${path}.when`,
      written ?? tree,
      `expected ${WHEN.join(' or ')}, got ${shape(written ?? tree)}`,
    )
  const value: LabelRule = {
    label,
    from: readSource(from, `${path}.from`, findings),
    map: readMap(settings.get('map'), `${path}.map`, findings),
    when,
  }
  return { path: `${path}.label`, at: (named ?? tree).at, value }
}

function readSource(tree: ConfigTree, path: string, findings: Findings): LabelSource {
  const settings = settingsOf(tree, path, SOURCE_KEYS)
  const [first, ...more] = settings
  if (first === undefined || more.length > 0)
    throw new RuleError(path, tree, `expected one of ${SOURCE_KEYS.join(', ')}, got ${shape(tree)}`)
  const [kind, value] = first
  const below = `${path}.${kind}`
  if (kind === 'tagCategory' || kind === 'attribute') {
    const what = kind === 'attribute' ? 'custom attribute' : 'tag category'
    const name = textIn(value, below, tree, `write the name of a ${what}`)
    findings.warnOfSpaces(below, value.at, name)
    return { kind, name }
  }
  if (textOf(value) === PLACE_VALUE) return { kind }
  throw new RuleError(below, value, `expected "${PLACE_VALUE}", got ${shape(value)}`)
}

function readMap(
  tree: ConfigTree | undefined,
  path: string,
  findings: Findings,
): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  if (tree === undefined || (tree.kind === 'text' && tree.text === '')) return values
  const expected = 'names in vCenter, and a label value for each'
  if (tree.kind !== 'map') throw new RuleError(path, tree, `expected ${expected}, got ${shape(tree)}`)
  for (const { key, at, value } of tree.entries) {
    const text = textOf(value)
    if (text === undefined || text === '' || !isLabelValue(text))
      throw new RuleError(
        path,
        value,
        `expected a label value (1 to 63 of A-Z, a-z, 0-9, "-", "_" and ".", beginning and ending with a letter or digit), got ${shape(value)}`,
      )
    if (values.has(key)) throw new RuleError(path, { at }, 'names one value twice: keep one')
    findings.warnOfSpaces(path, at, key)
    values.set(key, text)
  }
  return values
}

/** The settings in a map by their proper names. */
function settingsOf<const K extends string>(
  tree: ConfigTree,
  path: string,
  known: readonly K[],
): ReadonlyMap<K, ConfigTree> {
  if (tree.kind !== 'map')
    throw new RuleError(path, tree, `expected ${known.join(', ')} below it, got ${shape(tree)}`)
  const settings = new Map<K, ConfigTree>()
  for (const entry of tree.entries) {
    const name = known.find((each) => spelling(each) === spelling(entry.key))
    if (name === undefined) {
      const near = didYouMean(entry.key, known)
      const label = /^[a-z][a-z0-9_-]{0,39}$/i.test(entry.key) ? entry.key : '?'
      const hint = near === undefined ? `known here are ${known.join(', ')}` : `did you mean "${near}"?`
      throw new RuleError(`${path}.${label}`, entry, `unknown key: ${hint}`)
    }
    if (settings.has(name)) throw new RuleError(`${path}.${name}`, entry, 'is given twice: keep one')
    settings.set(name, entry.value)
  }
  return settings
}

function textOf(tree: ConfigTree): string | undefined {
  return tree.kind === 'text' ? tree.text : undefined
}

function textIn(tree: ConfigTree | undefined, path: string, parent: ConfigTree, hint: string): string {
  const text = tree === undefined ? undefined : textOf(tree)
  if (text !== undefined && text !== '') return text
  throw new RuleError(
    path,
    tree ?? parent,
    tree === undefined || text === '' ? `is missing: ${hint}` : `expected text, got ${shape(tree)}: ${hint}`,
  )
}

/** Those that Rollcall writes by other settings, under both their names. */
const TOPOLOGY: ReadonlySet<string> = new Set(Object.entries(BETA_LABELS).flat())

/** Labels of whole domains that no rule may write, and why; the first that fits counts. */
const DOMAINS = {
  'node-role.kubernetes.io': 'is a role of the Node',
  'node-restriction.kubernetes.io': 'belongs to somebody else under node-restriction.kubernetes.io',
  'kubernetes.io': 'is in a namespace of Kubernetes, where labels have powers',
  'k8s.io': 'is in a namespace of Kubernetes, where labels have powers',
  'csi.vmware.com': 'is a label of the vSphere CSI driver',
  'csi.vsphere.vmware.com': 'is a label of the vSphere CSI driver',
}

/** Why no rule may write this label: it has powers, or another component writes it. Undefined where one may. */
function refusalOf(label: string): string | undefined {
  if (!isLabelKey(label))
    return 'expected the key of a label: a name of at most 63 of A-Z, a-z, 0-9, "-", "_" and ".", after a domain and "/" if you like'
  if (label === LABEL_IDENTITY_LEVEL)
    return 'is the label by which Rollcall shows how strongly a Node is known'
  if (label === CONTROLLER_LABEL) return 'is the label by which people say where the controller runs'
  if (label.startsWith(OWN_PREFIX)) return undefined
  if (TOPOLOGY.has(label))
    return 'is a label of zone, region or instance type: set "zone" and "region" under "labels"'
  const [domain = '', name] = label.split('/')
  if (name === undefined) return undefined
  const [, why] =
    name === EXCLUDES
      ? ['', 'takes a Node out of load balancers']
      : (Object.entries(DOMAINS).find(([parent]) => `.${domain}`.endsWith(`.${parent}`)) ?? [])
  return why === undefined ? undefined : `${why}: write "${OWN_PREFIX}${name}" instead`
}

const EXCLUDES = 'exclude-from-external-load-balancers'
