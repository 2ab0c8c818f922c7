/** A datacenter and its place in the inventory. */
export interface DatacenterPath {
  readonly moref: string
  /** Names from below the root folder down to the datacenter itself, without vCenter's escapes; at least one. */
  readonly path: readonly string[]
}

/**
 * Whether an entry of `datacenters` means this one: a name (`dc-1`), an inventory path (`/europe/dc-1`), a managed object
 * reference (`Datacenter:datacenter-3`), or a name or path with wildcards. As in the CPI: the finder of govmomi takes the
 * wildcards of Go's `path.Match` for each part of a path, as vCenter shows it. Without wildcards, a name may also be without
 * vCenter's escapes.
 */
export function matchesDatacenter(pattern: string, { moref, path }: DatacenterPath): boolean {
  if (pattern === `Datacenter:${moref}`) return true
  if (!isPath(pattern)) return matchesName(pattern, path.at(-1) ?? '')
  const parts = pattern.split('/').filter((part) => part !== '' && part !== '.')
  return parts.length === path.length && parts.every((part, index) => matchesName(part, path[index] ?? ''))
}

/** Whether an entry of `datacenters` names the place of the datacenter, not its name alone. */
export function isPath(pattern: string): boolean {
  return pattern.includes('/')
}

/** The inventory path as vCenter, govc and the CPI show it: an entry of `datacenters` that means this one. */
export function pathOf({ path }: Pick<DatacenterPath, 'path'>): string {
  return `/${path.map(escaped).join('/')}`
}

/** Whether a name, as an entry of `datacenters`, is this one, wildcards aside. */
export function isNameOf(written: string, name: string): boolean {
  return written === name || inLowerCase(written) === escaped(name)
}

function matchesName(pattern: string, name: string): boolean {
  return isNameOf(pattern, name) || wildcards(inLowerCase(pattern))?.test(escaped(name)) === true
}

/** With the escapes that vCenter writes in the names of objects. */
function escaped(name: string): string {
  return name.replace(/[%/\\]/g, (character) => `%${character.charCodeAt(0).toString(16)}`)
}

function inLowerCase(pattern: string): string {
  return pattern.replace(/%(2f|5c|25)/gi, (code) => code.toLowerCase())
}

/** `*`, `?`, `[a-z]`, `[^a-z]`, and `\` before any of them. Undefined where there is none, or a bracket is left open. */
function wildcards(pattern: string): RegExp | undefined {
  const parts = pattern.match(/\\.|\[\^?(?:\\.|[^\]\\])+\]|[^[\\]/gsu) ?? []
  if (!/[*?[\\]/.test(pattern) || parts.join('') !== pattern) return undefined
  try {
    return new RegExp(`^${betweenStars(parts)}$`, 'su')
  } catch {
    // A range that ends before it begins.
    return undefined
  }
}

/**
 * The text between two stars is looked for once, at its first place: a later one would leave less for the rest. With `.*`
 * for each star, a name that does not fit would be tried in all ways, which takes minutes for a dozen of them.
 */
function betweenStars(parts: readonly string[]): string {
  const pieces = ['']
  for (const part of parts) {
    if (part === '*') pieces.push('')
    else pieces.push(`${pieces.pop()}${partOf(part)}`)
  }
  const [first, ...others] = pieces
  const last = others.pop()
  if (last === undefined) return `${first}`
  // A lookahead is not tried again, unlike what it stands for.
  return `${first}${others.map((piece, index) => `(?=(.*?${piece}))\\${index + 1}`).join('')}.*${last}`
}

function partOf(part: string): string {
  if (part === '?') return '.'
  const [, not, characters] = /^\[(\^?)(.+)\]$/su.exec(part) ?? []
  if (characters === undefined) return literal(part)
  const each = characters.match(/\\.|./gsu) ?? []
  return `[${not}${each.map((one) => (one === '-' ? one : literal(one))).join('')}]`
}

/** A character, perhaps after a backslash, as a regular expression has it inside brackets and out. */
function literal(character: string): string {
  return `\\u{${character.codePointAt(character.length > 1 && character.startsWith('\\') ? 1 : 0)?.toString(16)}}`
}
