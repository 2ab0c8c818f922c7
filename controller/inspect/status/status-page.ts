/** `status` as one page for people who have no kubectl: it loads nothing, runs no script, and needs no color. Pure. */
import type { Line } from '../../../agent/shared/diagnosis.ts'
import { printable } from '../../../agent/shared/printable.ts'
import { count } from '../../lib/format.ts'
import { troubleLines, unsaid } from './leader.ts'
import type { NodeStatus } from './node-status.ts'
import { agents, brakes, type ClusterStatus } from './print-status.ts'
import { STYLE } from './status-page-style.ts'

type Tone = 'good' | 'note' | 'warn' | 'bad'

/** The states in the order in which a person should look at them. */
const STATES: Readonly<Record<NodeStatus['state'], { symbol: string; tone: Tone; means: string }>> = {
  'VM gone': { symbol: '✕', tone: 'bad', means: 'Its VM is gone; the Node is kept for the reason given.' },
  'VM missing': {
    symbol: '!',
    tone: 'bad',
    means: 'No search finds its VM, and whether it is gone is not known. The Node is kept.',
  },
  waiting: {
    symbol: '…',
    tone: 'warn',
    means: 'New. It runs nothing yet; the reason says what it waits for.',
  },
  doubted: {
    symbol: '?',
    tone: 'warn',
    means: 'It runs on what was verified before. That cannot be verified now, or something contradicts it.',
  },
  'VM off': { symbol: '○', tone: 'warn', means: 'Its VM is powered off or suspended.' },
  deleting: { symbol: '−', tone: 'warn', means: 'Kubernetes is deleting it.' },
  unknown: { symbol: '?', tone: 'warn', means: 'Its report could not be read.' },
  initialized: { symbol: '✓', tone: 'good', means: 'It has everything that it should have.' },
  unmanaged: {
    symbol: '·',
    tone: 'note',
    means: 'Rollcall leaves it alone: it belongs to another provider.',
  },
}
const ORDER = Object.keys(STATES)
const WELL = STATES.initialized.symbol

const LEVELS = {
  proven: 'The VM itself shows in vCenter that it is this Node.',
  reported: 'An agent on the machine reported what vCenter says of the VM.',
  asserted: 'A VM has the UUID that the Node names. Nothing else confirms it.',
  'not verified': 'No VM is known to be this Node.',
} as const

const CHECKS: Readonly<Record<Line['status'], { symbol: string; tone: Tone }>> = {
  fail: { symbol: '✕', tone: 'bad' },
  warn: { symbol: '!', tone: 'warn' },
  skip: { symbol: '·', tone: 'note' },
  ok: { symbol: '✓', tone: 'good' },
}

/** With more Nodes than this, clusters are closed at first. */
const MANY = 60
/** A reason that more Nodes have is closed at first. */
const FEW = 5
/** So many messages of one reason, and names below each of them, are in the page. */
const MOST_MESSAGES = 20
const MOST_NAMES = 200
/** Zones of one cluster that are named beside it. */
const MOST_ZONES = 3

/** The whole page. */
export function statusPage({
  status,
  checks,
  at,
  version,
  context,
}: {
  readonly status: ClusterStatus
  /** What `doctor` says. */
  readonly checks: readonly Line[]
  /** When all of this was read. */
  readonly at: string
  readonly version: string
  /** The context of the kubeconfig, where one was named. */
  readonly context?: string | undefined
}): string {
  const { nodes, of, leader } = status
  const shown = nodes.length === of ? count(of, 'Node') : `${nodes.length} of ${count(of, 'Node')}`
  const where = context === undefined ? '' : `${context}, `
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${shown} in vSphere</title>
<style>${new Markup(STYLE)}</style>
</head>
<body>
<header>
<h1>Kubernetes Nodes in vSphere</h1>
<p>${where}${at.replace('T', ' ').replace('Z', ' UTC')} · ${leader} · rollcall-controller ${version}</p>
</header>
<main>
${totals(nodes, shown)}
${attention(status)}
${findings(checks)}
${places(nodes)}
${legend()}
</main>
</body>
</html>
`.text
}

function totals(nodes: readonly NodeStatus[], shown: string): Markup {
  const states = Map.groupBy(inUrgency(nodes), ({ state }) => state)
  const tiles = [...states].map(([state, { length }]) => {
    const { symbol, tone } = STATES[state]
    return html`<li class="${tone}"><b>${length}</b> <span>${symbol} ${state}</span></li>`
  })
  const sums: readonly (readonly [string, readonly string[]])[] = [
    ['Identity', nodes.map(levelOf)],
    ['Power', nodes.map(powerOf)],
    ['Zone', nodes.map(zoneOf)],
  ]
  const rows = sums.map(
    ([name, values]) => html`<dt>${name}</dt><dd>${tally(values).join(' · ') || 'none'}</dd>`,
  )
  return html`<section id="totals"><h2>${shown}</h2>
<ul class="tiles">${tiles}</ul>
<dl>${rows}${agents(nodes).map((line) => html`<dt>Agents</dt><dd>${line.replace(/^agents: /, '')}</dd>`)}</dl></section>`
}

/** What needs a person: the leader's own troubles, then Nodes, by state and reason. */
function attention({ leader, leads, troubles, nodes, unknown, notes }: ClusterStatus): Markup {
  const said = [
    ...(leads === false ? [leader] : []),
    ...unsaid(leads, troubles),
    ...troubleLines(troubles),
    ...notes,
    ...unknown,
    ...brakes(nodes),
  ]
  const held = inUrgency(nodes.filter(needsPerson))
  const groups = Map.groupBy(held, ({ state, pending }) => `${state}: ${pending?.reason}`)
  if (said.length + held.length === 0)
    return html`<section id="attention"><h2>Needs attention</h2><p>${WELL} Nothing</p></section>`
  return html`<section id="attention"><h2>Needs attention: ${count(held.length, 'Node')}</h2>
<ul class="said">${said.map((line) => html`<li class="bad">! ${line}</li>`)}</ul>
<div class="reasons">${[...groups].map(([title, members]) => reasonGroup(title, members))}</div></section>`
}

function reasonGroup(title: string, members: readonly NodeStatus[]): Markup {
  const [first] = members
  if (first === undefined) return html``
  const { symbol, tone } = toneOf(first)
  const messages = [...Map.groupBy(members, ({ pending }) => pending?.message ?? '')]
  const more = messages.length - MOST_MESSAGES
  const parts = messages.slice(0, MOST_MESSAGES).map(([message, about]) => {
    const rest = about.length - MOST_NAMES
    const more = rest > 0 ? html`<li>and ${rest} more</li>` : undefined
    return html`<ul class="names">${about.slice(0, MOST_NAMES).map(placed)}${more}</ul><p>${message}</p>`
  })
  return html`<details class="reason ${tone}"${members.length <= FEW ? html` open` : undefined}>
<summary><h3>${symbol} ${title}</h3> <span>${count(members.length, 'Node')}</span></summary>
${parts}${more > 0 ? html`<p>and ${more} more messages</p>` : undefined}</details>
`
}

/** A Node, and where a person finds its VM. */
function placed({ name, vm, host, cluster }: NodeStatus): Markup {
  const where = [vm === name ? undefined : vm && `VM ${vm}`, host, cluster].filter(Boolean).join(', ')
  return html`<li><b><bdi>${name}</bdi></b>${where === '' ? undefined : html` <small><bdi>${where}</bdi></small>`}</li>`
}

function findings(checks: readonly Line[]): Markup {
  const line = ({ status, check, message }: Line) =>
    html`<li class="${CHECKS[status].tone}">${CHECKS[status].symbol} <b>${status}: ${check}</b> ${message}</li>`
  const found = checks.filter(({ status }) => status === 'fail' || status === 'warn')
  const others = checks.filter((each) => !found.includes(each))
  const rank = ({ status }: Line) => (status === 'fail' ? 0 : 1)
  return html`<section id="checks"><h2>Checks of the installation</h2>
<ul class="said">${found.toSorted((a, b) => rank(a) - rank(b)).map(line)}</ul>
<details><summary>${CHECKS.ok.symbol} ${tally(others.map(({ status }) => status)).join(', ') || 'no other checks'}</summary>
<ul class="said">${others.map(line)}</ul></details></section>`
}

/** Clusters, hosts in them, and Nodes on these: each a box in a box. */
function places(nodes: readonly NodeStatus[]): Markup {
  const open = nodes.length <= MANY ? html` open` : undefined
  const clusters = Map.groupBy(nodes, ({ vCenter, datacenter, cluster }) =>
    vCenter === undefined
      ? 'No VM is known for these'
      : [vCenter, datacenter, cluster ?? 'no cluster'].filter(Boolean).join(' / '),
  )
  const boxes = [...clusters].map(([title, members]) => {
    const hosts = Map.groupBy(members, ({ host }) => host ?? 'no host known')
    const troubled = members.filter(needsPerson).length
    const known = new Set(members.flatMap(({ host }) => host ?? []))
    const about = [
      `${count(members.length, 'Node')}${known.size === 0 ? '' : ` on ${count(known.size, 'host')}`}`,
      [...new Set(members.map(zoneOf))].slice(0, MOST_ZONES).join(', '),
      troubled === 0 ? `${WELL} all well` : `! ${troubled} need${troubled === 1 ? 's' : ''} attention`,
    ]
    return html`<details class="cluster"${open}>
<summary><h3><bdi>${title}</bdi></h3> <span>${about.join(' · ')}</span></summary>
<div class="hosts">${[...hosts].map(([host, on]) => hostBox(host, on))}</div></details>
`
  })
  return html`<section id="places"><h2>Clusters, hosts and VMs</h2>${boxes}</section>`
}

function hostBox(host: string, nodes: readonly NodeStatus[]): Markup {
  return html`<div class="host"><h4><bdi>${host}</bdi> <small>${count(nodes.length, 'Node')}</small></h4><ul>${nodes.map(nodeBox)}</ul></div>
`
}

function nodeBox(node: NodeStatus): Markup {
  const { name, vm, state, pending } = node
  const { symbol, tone } = toneOf(node)
  return html`<li class="node ${tone}"><b>${symbol} <bdi>${name}</bdi></b>${
    vm === undefined || vm === name ? undefined : html`<span>VM <bdi>${vm}</bdi></span>`
  }<span>${levelOf(node)} · power ${powerOf(node)} · <bdi>${zoneOf(node)}</bdi></span>${
    tone === 'good' ? undefined : html`<span>${state}${pending && `: ${pending.reason}`}</span>`
  }</li>
`
}

function legend(): Markup {
  const states = Object.entries(STATES).map(
    ([state, { symbol, means }]) => html`<dt>${symbol} ${state}</dt><dd>${means}</dd>`,
  )
  const levels = Object.entries(LEVELS).map(([level, means]) => html`<dt>${level}</dt><dd>${means}</dd>`)
  return html`<details id="legend"><summary>What the words mean</summary>
<dl>${states}</dl><dl>${levels}</dl>
<p>A Node is a machine of the Kubernetes cluster. If its VM has another name, that name is shown too.
${WELL}! means that it runs, and that something should be done nevertheless.</p></details>`
}

function needsPerson({ state, pending }: NodeStatus): boolean {
  return state !== 'unmanaged' && (pending !== undefined || STATES[state].tone !== 'good')
}

function toneOf(node: NodeStatus): { readonly symbol: string; readonly tone: Tone } {
  const { symbol, tone } = STATES[node.state]
  return tone === 'good' && needsPerson(node) ? { symbol: `${symbol}!`, tone: 'note' } : { symbol, tone }
}

function inUrgency(nodes: readonly NodeStatus[]): readonly NodeStatus[] {
  return nodes.toSorted((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state))
}

const levelOf = ({ level }: NodeStatus): keyof typeof LEVELS => level ?? 'not verified'
const powerOf = ({ power }: NodeStatus) => power ?? 'not known'
const zoneOf = ({ zone }: NodeStatus) => zone ?? 'no zone'

/** Each value with how often it occurs, the most frequent first. */
function tally(values: readonly string[]): readonly string[] {
  return [...Map.groupBy(values, (value) => value)]
    .sort(([, a], [, b]) => b.length - a.length)
    .map(([value, { length }]) => `${length} ${value}`)
}

/** Longest text that is put into a page at once: strangers give names and messages. */
const MAX_TEXT = 1_000

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** HTML that {@link html} has made: everything else that is put into a page is escaped. */
class Markup {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Part = Markup | string | number | undefined | readonly Part[]

/** A piece of a page; what is put between its own words is escaped, and made printable, unless it is a piece itself. */
export function html(words: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(words.map((word, index) => `${word}${escaped(parts[index])}`).join(''))
}

function escaped(part: Part): string {
  if (part === undefined) return ''
  if (part instanceof Markup) return part.text
  if (Array.isArray(part)) return part.map(escaped).join('')
  return printable(String(part), MAX_TEXT).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}
