/**
 * Replaces what identifies a site. A value is always replaced by the same other one, drawn at random, of its own kind, length
 * and spelling: a UUID by a UUID, an address by one of the same range and in the same subnet as its neighbors, a word by
 * a word. Separators and upper case stay. Only what is named here stays. Nobody can compute the originals back; docs/bundle.md says
 * what can be guessed.
 */
import { isIPv4, isIPv6 } from 'node:net'
import { canonicalUUID, swapUUID } from '../../../agent/shared/uuid.ts'
import { dashed, groupsOf, inLayout, isUpper, likeCase, macOf, timeLike, undashed } from './spellings.ts'

export interface Pseudonyms {
  /** Replaces every word, number, address and identifier of a text. `kept` are words in lower case that stay. */
  text(value: string, kept?: ReadonlySet<string>): string
  /**
   * The same for a text that vCenter itself has written, such as "Network adapter 1": its words and numbers have replacements of
   * their own. Everybody can guess what stands there, and would recognize a name with the same word.
   */
  sentence(value: string, kept?: ReadonlySet<string>): string
  /** Replaces the number of a managed object reference; its prefix stays where it is one of vCenter's. */
  moref(value: string, type: string): string
  /** How many different values were replaced, by kind. */
  counts(): Readonly<Record<string, number>>
}

/** Whose words they are: the site's, or vCenter's own. */
type Origin = '' | typeof OF_VCENTER
const OF_VCENTER = ' of vCenter'

const HEX = '0123456789abcdef'
const DIGITS = '0123456789'
const LETTERS = 'abcdefghijklmnopqrstuvwxyz'

const UUID = '[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}'
/** As `42 1c 0a ..-..`, and thumbprints. */
const PAIRS = '[0-9a-f]{2}(?:[ :-][0-9a-f]{2}){15,63}'
const LONG_HEX = '[0-9a-f]{32,128}'
const MAC = '[0-9a-f]{2}(?::[0-9a-f]{2}){5}|[0-9a-f]{2}(?:-[0-9a-f]{2}){5}|(?:[0-9a-f]{4}\\.){2}[0-9a-f]{4}'
const IP6 = '(?:[0-9a-f]{0,4}:){2,7}(?:(?:\\d{1,3}\\.){3}\\d{1,3}|[0-9a-f]{1,4})?'
const IP4 = '(?:\\d{1,3}\\.){3}\\d{1,3}'
const TIME = '\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(?:\\.\\d{1,9})?(?:Z|[+-]\\d{2}:\\d{2})?'
/** vCenter's prefixes of references, which say the kind of an object and nothing else. */
const PREFIX =
  'vm|host|domain-[cs]|datacenter|group-[dhnpsv]|resgroup(?:-v)?|network|dvportgroup|dvs|datastore|folder|task|session'
const MOREF = `(?:${PREFIX})-?\\d{1,9}`
/** How vCenter writes `/`, `\` and `%` in a name. */
const ESCAPE = '%(?:2f|5c|25)'
const bounded = (pattern: string) => `(?<![\\p{L}\\p{N}])(?:${pattern})(?![\\p{L}\\p{N}])`

const PARTS = new RegExp(
  [
    `(?<escape>${ESCAPE})`,
    `(?<time>${bounded(TIME)})`,
    `(?<hex>${[UUID, PAIRS, LONG_HEX].map(bounded).join('|')})`,
    `(?<mac>${bounded(MAC)})`,
    `(?<ip6>(?<![\\p{L}\\p{N}:.])${IP6}(?![\\p{L}\\p{N}:]))`,
    `(?<ip4>(?<![\\p{L}\\p{N}.])${IP4}(?![\\p{L}\\p{N}]|\\.\\d))`,
    `(?<moref>${bounded(MOREF)})`,
    '(?<word>[\\p{L}\\p{N}\\p{M}]+)',
    '(?<other>[^\\x00-\\x7f])',
  ].join('|'),
  'giu',
)

/** After that a value gets what another has as well, or stays: where there are more values than replacements. */
const ATTEMPTS = 2_000

/** VMware's own prefixes of MACs. */
const OWN_MACS = /^(?:005056|000c29|000569)/

/** @param random uniform in [0, 1) */
export function createPseudonyms(random: () => number): Pseudonyms {
  /** By kind and original. */
  const known = new Map<string, Map<string, string>>()
  const used = new Set<string>()

  const pick = (from: string): string => from[Math.floor(random() * from.length)] ?? ''

  /** The replacement of a value; drawn when it is first asked for, and another for each value as long as there are some. */
  function replacement(kind: string, value: string, draw: () => string, scope = kind): string {
    const table = known.get(kind) ?? new Map<string, string>()
    known.set(kind, table)
    const before = table.get(value)
    if (before !== undefined) return before
    let drawn = draw()
    const isTaken = () => used.has(`${scope} ${drawn}`)
    for (let i = 0; i < ATTEMPTS && (drawn === value || isTaken()); i++) drawn = draw()
    // Of ten digits one may be left with itself alone.
    for (let i = 0; i < ATTEMPTS && isTaken(); i++) drawn = draw()
    used.add(`${scope} ${drawn}`)
    table.set(value, drawn)
    return drawn
  }

  function word(text: string, origin: Origin): string {
    const lower = text.toLowerCase()
    const number = /^\d+$/.test(lower)
    const draw = () =>
      Array.from(lower, (character, index) => {
        if (number && index === 0) return character === '0' ? '0' : pick('123456789')
        if (/\d/.test(character)) return pick(DIGITS)
        if (/[a-z]/.test(character)) return pick(LETTERS)
        return /\p{Ll}/u.test(character) ? 'é' : /\p{L}/u.test(character) ? '字' : ''
      }).join('')
    const drawn = replacement(`${number ? 'numbers' : 'words'}${origin}`, lower, draw)
    return likeCase(text, drawn)
  }

  function hex(text: string): string {
    const digits = text.replace(/[^0-9a-f]/gi, '').toLowerCase()
    const table = known.get('identifiers')
    if (table?.has(digits) !== true) {
      const isUUID = digits.length === 32
      // Version and variant of a UUID stay.
      const draw = () =>
        Array.from(digits, (digit, index) =>
          isUUID && (index === 12 || index === 16) ? digit : pick(HEX),
        ).join('')
      const drawn = replacement('identifiers', digits, draw)
      const [one, other] = [canonicalUUID(dashed(digits)), canonicalUUID(dashed(drawn))]
      // The same UUID in the byte order of a machine's firmware.
      if (isUUID && one !== undefined && other !== undefined)
        known.get('identifiers')?.set(undashed(swapUUID(one)), undashed(swapUUID(other)))
    }
    return inLayout(text, known.get('identifiers')?.get(digits) ?? '')
  }

  function mac(digits: string): string {
    const own = OWN_MACS.exec(digits)?.[0]
    const first = Number.parseInt(digits.slice(0, 2), 16)
    // Whether it is one of a group, and whether somebody set it by hand.
    const head = () => own ?? ((Math.floor(random() * 64) << 2) | (first & 3)).toString(16).padStart(2, '0')
    return replacement('MACs', digits, () => {
      const begun = head()
      return begun + Array.from({ length: 12 - begun.length }, () => pick(HEX)).join('')
    })
  }

  const anyMAC = (text: string) => inLayout(text, mac(text.replace(/[^0-9a-f]/gi, '').toLowerCase()))

  /** A part of an address below what is before it, so that neighbors stay neighbors. 0 and 255 stay. */
  function octet(before: string, value: number, [least, size]: readonly [number, number] = [1, 254]): string {
    if (value === 0 || value === 255) return String(value)
    const draw = () => String(least + Math.floor(random() * size))
    return replacement('IPv4 parts', `${before}.${value}`, draw, `IPv4 ${before}`)
  }

  function ip4(text: string, origin: Origin): string {
    if (!isIPv4(text)) return text.replace(/\d+/g, (each) => word(each, origin))
    const [a = 0, b = 0, c = 0, d = 0] = text.split('.').map(Number)
    if (a === 0 || a === 127 || a === 255) return text
    note('addresses', text)
    const rest = (kept: string, from: readonly number[]) =>
      from.reduce(
        ([original, out], value) => [`${original}.${value}`, `${out}.${octet(original, value)}`] as const,
        [
          text
            .split('.')
            .slice(0, 4 - from.length)
            .join('.'),
          kept,
        ] as const,
      )[1]
    if (a === 10 || a >= 224) return rest(String(a), [b, c, d])
    if ((a === 192 && b === 168) || (a === 169 && b === 254)) return rest(`${a}.${b}`, [c, d])
    if (a === 172 && b >= 16 && b < 32) return rest(`172.${octet('172', b, [16, 16])}`, [c, d])
    if (a === 100 && b >= 64 && b < 128) return rest(`100.${octet('100', b, [64, 64])}`, [c, d])
    // Of the range for benchmarks, 198.18.0.0/15, which is nobody's.
    const subnet = replacement('public subnets', `${a}.${b}.${c}`, () => {
      const index = Math.floor(random() * 512)
      return `198.${18 + (index >> 8)}.${index & 255}`
    })
    return `${subnet}.${octet(`${a}.${b}.${c}`, d)}`
  }

  function ip6(text: string, origin: Origin): string {
    if (!isIPv6(text)) return text.replace(/[\p{L}\p{N}]+/gu, (each) => word(each, origin))
    const parts = text.split(/(:+)/)
    const [head = '', tail = ''] = text.split('::')
    const fill = 8 - [head, tail].flatMap((half) => half.split(':').filter(Boolean)).length
    const groups = text.includes('::')
      ? [
          ...head.split(':').filter(Boolean),
          ...Array.from({ length: fill }, () => '0'),
          ...tail.split(':').filter(Boolean),
        ]
      : text.split(':')
    if (text.includes('.')) return text.replace(new RegExp(IP4), (each) => ip4(each, origin))
    const values = groups.map((group) => Number.parseInt(group, 16))
    if (values.slice(0, 7).every((value) => value === 0)) return text
    note('addresses', text)
    const made = macOf(values)
    const card = made === undefined ? undefined : groupsOf(mac(made))
    let [position, before] = [0, '']
    const skip = text.includes('::') ? head.split(':').filter(Boolean).length : 8
    return parts
      .map((part) => {
        if (part === '' || part.startsWith(':')) {
          if (part === '::') {
            position = skip + fill
            before += ':0'.repeat(fill)
          }
          return part
        }
        const value = values[position] ?? 0
        const drawn =
          card !== undefined && position >= 4
            ? card[position - 4]
            : group(part, position, value, before, groups)
        before += `:${value.toString(16)}`
        position++
        return isUpper(text) ? (drawn ?? part).toUpperCase() : (drawn ?? part)
      })
      .join('')
  }

  function group(
    part: string,
    position: number,
    value: number,
    before: string,
    groups: readonly string[],
  ): string {
    if (value === 0) return part
    const isGlobal = Number.parseInt(groups[0] ?? '', 16) >> 13 === 1
    const second = Number.parseInt(groups[1] ?? '', 16)
    // The range for documentation, 2001:db8::/32.
    if (isGlobal && position === 0) return second === 0 ? '3fff' : '2001'
    if (isGlobal && position === 1) return part.length === 4 ? '0db8' : 'db8'
    if (position === 0 && value >> 9 !== 0x7e) return part
    const draw = () => {
      const digits = Array.from(part, (_, index) => (index === 0 ? pick('123456789abcdef') : pick(HEX))).join(
        '',
      )
      return position === 0 ? `fd${digits.slice(2)}` : digits
    }
    const scope = isGlobal && position === 2 ? 'IPv6 global' : `IPv6 ${before}`
    return replacement('IPv6 parts', `${before}:${value.toString(16)}`, draw, scope)
  }

  const note = (kind: string, value: string): void => {
    replacement(kind, value, () => value, `${kind} ${value}`)
  }

  function numbered(text: string): string {
    const [, prefix = '', digits = ''] = /^(.*?)(\d+)$/.exec(text) ?? []
    const draw = () =>
      Array.from(digits, (_, index) => (index === 0 ? pick('123456789') : pick(DIGITS))).join('')
    return (
      prefix +
      replacement('references', `${prefix.toLowerCase()}${digits}`, draw, `reference ${prefix.toLowerCase()}`)
    )
  }

  function part(found: string, kind: (name: string) => boolean, origin: Origin): string {
    if (kind('escape')) return found
    if (kind('time')) return timeLike(found)
    if (kind('hex')) return hex(found)
    if (kind('mac')) return anyMAC(found)
    if (kind('ip6')) return ip6(found, origin)
    if (kind('ip4')) return ip4(found, origin)
    if (kind('moref')) return numbered(found)
    return kind('word') ? word(found, origin) : '¤'
  }

  function replaced(value: string, kept: ReadonlySet<string> | undefined, origin: Origin): string {
    let [done, at] = ['', 0]
    for (const { 0: found, index, groups = {} } of value.matchAll(PARTS)) {
      const stays = kept?.has(found.toLowerCase()) === true
      done +=
        value.slice(at, index) + (stays ? found : part(found, (name) => groups[name] !== undefined, origin))
      at = index + found.length
    }
    return done + value.slice(at)
  }

  const text: Pseudonyms['text'] = (value, kept) => replaced(value, kept, '')
  return {
    text,
    sentence: (value, kept) => replaced(value, kept, OF_VCENTER),
    moref(value, type) {
      // vCenter's only ones of their kind, as SearchIndex.
      if (value.toLowerCase() === type.toLowerCase()) return value
      const own = new RegExp(`^(?:${PREFIX}|${type.replace(/\W/g, '')})-?\\d{1,9}$`, 'i')
      return own.test(value) ? numbered(value) : text(value, MOREF_WORDS)
    },
    counts: () =>
      Object.fromEntries([...known].flatMap(([kind, { size }]) => (COUNTED.has(kind) ? [[kind, size]] : []))),
  }
}

/** In the names of objects that live in a session, and of tags. */
const MOREF_WORDS: ReadonlySet<string> = new Set(['session'])
const COUNTED = new Set(['words', 'numbers', 'identifiers', 'MACs', 'addresses', 'references'])
