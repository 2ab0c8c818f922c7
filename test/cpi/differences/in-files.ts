/** Where Rollcall means to differ in reading `vsphere.conf`. */
import type { Verdict } from '../compare.ts'
import type { Difference } from './row.ts'

const TAKEN = 'only Rollcall'
const REFUSED = 'only the CPI'

/** The files of the corpus with these names, of which this becomes. */
function verdicts(verdict: Verdict, names: string): Readonly<Record<string, Verdict>> {
  return Object.fromEntries(names.split(' ').map((name) => [`${name}.conf`, verdict]))
}

/** In reading `vsphere.conf`. */
export const IN_FILES: readonly (Difference & {
  /** Of the corpus: what shows it, and what becomes of them. */
  readonly shown: Readonly<Record<string, Verdict>>
})[] = [
  {
    what: 'Unknown key or section',
    cpi: 'ignores it',
    rollcall: 'refuses it, and suggests the likely key',
    because: 'A misspelled `datacenters` would widen the scope.',
    shown: verdicts(REFUSED, 'yaml-misspelled yaml-misspelled-section ini-misspelled ini-misspelled-section'),
  },
  {
    what: 'Key in another spelling: `ca-file` in YAML, `insecureFlag` in INI',
    cpi: "ignores it (its chart's `ca-file` too), or refuses the file",
    rollcall: 'reads it',
    shown: {
      ...verdicts(TAKEN, 'yaml-spellings ini-underscore'),
      ...verdicts('different', 'yaml-helm-chart-ca ini-spellings'),
    },
  },
  {
    what: 'Key twice in YAML or JSON',
    cpi: 'the last counts',
    rollcall: 'refuses it; in INI the last, with a warning',
    shown: { 'yaml-key-twice.conf': REFUSED, 'ini-repeated.conf': 'same' },
  },
  {
    what: 'Text for a list, a list for `thumbprint`, a number or flag in quotes',
    cpi: 'refuses the file',
    rollcall: 'reads it',
    shown: verdicts(TAKEN, 'yaml-text-for-list yaml-thumbprints yaml-quoted-number'),
  },
  {
    what: 'Empty number or flag in INI: `soap-roundtrip-count = ""`',
    cpi: 'refuses the file',
    rollcall: 'is not set',
    shown: { 'ini-empty-number.conf': TAKEN },
  },
  {
    what: '`port = 0` in INI',
    cpi: 'uses port 0',
    rollcall: 'is not set',
    shown: { 'ini-port-zero.conf': 'different', 'yaml-port-zero.conf': 'same' },
  },
  {
    what: 'Wrong port, server, thumbprint, subnet or IP family, a missing CA file, a control character in INI',
    cpi: 'fails later',
    rollcall: 'refuses it; a running controller keeps its configuration',
    shown: verdicts(
      REFUSED,
      'ini-bad-port yaml-port-too-large yaml-server-with-scheme yaml-bad-thumbprint yaml-bad-subnet yaml-bad-family yaml-ca-file-missing ini-control-character',
    ),
  },
  {
    what: '`caFile` and `thumbprint` together',
    cpi: 'accepts either',
    rollcall: 'uses `caFile`, with a warning',
    because: 'A forgotten thumbprint would allow an old certificate.',
    shown: { 'yaml-ca-and-thumbprint.conf': 'different' },
  },
  {
    what: 'Numbers such as `0x1bb` or `0443`',
    cpi: 'reads it',
    rollcall: 'refuses it',
    because: 'YAML 1.1 and 1.2 disagree.',
    shown: { 'yaml-hex-port.conf': REFUSED, 'yaml-octal-port.conf': REFUSED },
  },
  {
    what: 'Tags (`!!binary`), `<<`, a second document in YAML',
    cpi: 'reads the first two, ignores the third',
    rollcall: 'refuses them; anchors and aliases are read',
    shown: {
      ...verdicts(REFUSED, 'yaml-tag yaml-merge yaml-two-documents'),
      ...verdicts('same', 'yaml-anchors'),
    },
  },
  {
    what: 'Braces, brackets or quotes in YAML that continue without further indentation',
    cpi: 'reads it',
    rollcall: 'refuses it',
    shown: { 'yaml-braces-not-indented.conf': REFUSED, 'yaml-quotes-not-indented.conf': REFUSED },
  },
  {
    what: 'Byte order mark before INI',
    cpi: 'refuses the file',
    rollcall: 'ignores it',
    shown: { 'ini-byte-order-mark.conf': TAKEN },
  },
  {
    what: '`[VirtualCenter]` without name and content',
    cpi: 'refuses the file',
    rollcall: 'ignores it',
    shown: { 'ini-empty-no-name.conf': TAKEN, 'ini-no-name.conf': 'neither' },
  },
  {
    what: '`server` under `global` as well as in a vCenter',
    cpi: 'two vCenters and sessions',
    rollcall: 'the one under `vcenter`',
    shown: { 'yaml-tenants-of-one-server.conf': 'different' },
  },
  {
    what: 'Certificate as `user`, its key as `password`',
    cpi: 'logs in by a SAML token',
    rollcall: 'refuses it',
    shown: { 'yaml-certificate-as-user.conf': REFUSED },
  },
]
