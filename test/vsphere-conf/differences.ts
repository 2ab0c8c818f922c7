/** Where Rollcall means to differ from the CPI in reading `vsphere.conf`. docs/differences.md has the same, in this order. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runAsProgram } from '../../build/entry.ts'
import { withGeneratedTable } from '../fixtures/generated-table.ts'

export interface ConfigDifference {
  readonly what: string
  readonly cpi: string
  readonly rollcall: string
  readonly because: string
  /** Of the corpus: what shows it, and what becomes of them. */
  readonly shown: Readonly<Record<string, ComparisonOutcome>>
}

/** `same` and `both refuse` are no differences; `other values` are those of a file that both take. */
export type ComparisonOutcome =
  | 'same'
  | 'both refuse'
  | 'only the CPI takes it'
  | 'only Rollcall takes it'
  | 'other values'

const TAKEN = 'only Rollcall takes it'
const REFUSED = 'only the CPI takes it'

export const DIFFERENCES: readonly ConfigDifference[] = [
  {
    what: 'An unknown key or section',
    cpi: 'ignores it',
    rollcall: 'refuses it, with the line and what was probably meant',
    because:
      'A misspelled `datacenters` widens the scope, a misspelled `insecureFlag` breaks the login, and nothing says so.',
    shown: {
      'yaml-misspelled.conf': REFUSED,
      'yaml-misspelled-section.conf': REFUSED,
      'ini-misspelled.conf': REFUSED,
      'ini-misspelled-section.conf': REFUSED,
    },
  },
  {
    what: 'A key in another spelling: `ca-file` or `INSECURE_FLAG` in YAML, `insecureFlag` or `insecure_flag` in INI',
    cpi: "ignores it, or refuses the file; its own Helm chart's `ca-file` has no effect",
    rollcall: 'reads it',
    because: 'The meaning is clear.',
    shown: {
      'yaml-spellings.conf': TAKEN,
      'yaml-helm-chart-ca.conf': 'other values',
      'ini-spellings.conf': 'other values',
      'ini-underscore.conf': TAKEN,
    },
  },
  {
    what: 'A key twice in YAML or JSON',
    cpi: 'the last counts',
    rollcall: 'refuses it; in INI the last counts, with a warning',
    because: "YAML does not allow it; the CPI's INI dialect does.",
    shown: { 'yaml-key-twice.conf': REFUSED, 'ini-repeated.conf': 'same' },
  },
  {
    what: 'Text for a list, a list for `thumbprint`, a number or flag in quotes',
    cpi: 'refuses the file',
    rollcall: 'reads it',
    because: 'The meaning is clear.',
    shown: {
      'yaml-text-for-list.conf': TAKEN,
      'yaml-thumbprints.conf': TAKEN,
      'yaml-quoted-number.conf': TAKEN,
    },
  },
  {
    what: 'An empty number or flag in INI: `soap-roundtrip-count = ""`',
    cpi: 'refuses the file, as it does the example in its own documentation',
    rollcall: 'counts it as not set',
    because: 'Empty text means that everywhere else in the file.',
    shown: { 'ini-empty-number.conf': TAKEN },
  },
  {
    what: '`port = 0` in INI',
    cpi: 'uses port 0, which cannot work',
    rollcall: 'counts as not set',
    because: 'In YAML it means that to both.',
    shown: { 'ini-port-zero.conf': 'other values', 'yaml-port-zero.conf': 'same' },
  },
  {
    what: 'A value that cannot work: a port above 65535 or in INI any text, a server with a scheme, an invalid thumbprint, subnet or IP family, a CA file that does not exist, in INI a control character',
    cpi: 'accepts it, and fails later: at the login, or at the first Node',
    rollcall: 'refuses it at the start; a running controller keeps the previous configuration',
    because: 'A mistake is best reported while somebody is looking.',
    shown: {
      'ini-bad-port.conf': REFUSED,
      'yaml-port-too-large.conf': REFUSED,
      'yaml-server-with-scheme.conf': REFUSED,
      'yaml-bad-thumbprint.conf': REFUSED,
      'yaml-bad-subnet.conf': REFUSED,
      'yaml-bad-family.conf': REFUSED,
      'yaml-ca-file-missing.conf': REFUSED,
      'ini-control-character.conf': REFUSED,
    },
  },
  {
    what: '`caFile` and `thumbprint` together',
    cpi: 'accepts a certificate that either allows',
    rollcall: 'uses only `caFile`, with a warning',
    because:
      'Somebody who names a CA expects it to be checked; with a forgotten thumbprint an old certificate would still be accepted.',
    shown: { 'yaml-ca-and-thumbprint.conf': 'other values' },
  },
  {
    what: 'A number in another notation: `port: 0x1bb`, `port: 0443`',
    cpi: 'reads it',
    rollcall: 'refuses it',
    because: 'YAML 1.1 and 1.2 disagree about such numbers; plain digits are unambiguous.',
    shown: { 'yaml-hex-port.conf': REFUSED, 'yaml-octal-port.conf': REFUSED },
  },
  {
    what: 'Tags (`!!binary`), `<<`, a second document in YAML',
    cpi: 'reads the first two, ignores the third',
    rollcall: 'refuses them; anchors and aliases are read',
    because: 'A password would differ from what is written, or a part of the file would have no effect.',
    shown: {
      'yaml-tag.conf': REFUSED,
      'yaml-merge.conf': REFUSED,
      'yaml-two-documents.conf': REFUSED,
      'yaml-anchors.conf': 'same',
    },
  },
  {
    what: 'Braces, brackets or quotes in YAML that go on in lines which are indented no further than their key',
    cpi: 'reads it',
    rollcall: 'refuses it',
    because: 'YAML asks for the blanks. JSON by itself needs none.',
    shown: { 'yaml-braces-not-indented.conf': REFUSED, 'yaml-quotes-not-indented.conf': REFUSED },
  },
  {
    what: 'A byte order mark before INI',
    cpi: 'refuses the file',
    rollcall: 'ignores it',
    because: 'Windows editors write it.',
    shown: { 'ini-byte-order-mark.conf': TAKEN },
  },
  {
    what: '`[VirtualCenter]` without a name, and nothing below it',
    cpi: 'refuses the file',
    rollcall: 'ignores it, like any empty section',
    because: 'It has no content.',
    shown: { 'ini-empty-no-name.conf': TAKEN, 'ini-no-name.conf': 'both refuse' },
  },
  {
    what: '`server` under `global` beside a vCenter that names the same server',
    cpi: 'has two vCenters, with two sessions',
    rollcall: 'has the one under `vcenter`',
    because: 'Both show the same VMs.',
    shown: { 'yaml-tenants-of-one-server.conf': 'other values' },
  },
  {
    what: 'A certificate as `user`, with its key as `password`',
    cpi: 'logs in by a SAML token',
    rollcall: 'refuses it',
    because: 'Not in this version.',
    shown: { 'yaml-certificate-as-user.conf': REFUSED },
  },
]

export const PAGE = 'docs/differences.md'

/** The page's text with its table as it should be. */
export function withTable(page: string): string {
  const rows = DIFFERENCES.map(({ what, cpi, rollcall, because }) => [what, cpi, rollcall, because])
  return withGeneratedTable(page, 'differences', ['in the file', 'the CPI', 'Rollcall', 'because'], rows)
}

async function main(): Promise<void> {
  const path = join(import.meta.dirname, '../..', PAGE)
  await writeFile(path, withTable(await readFile(path, 'utf8')))
}

if (import.meta.main) runAsProgram(main)
