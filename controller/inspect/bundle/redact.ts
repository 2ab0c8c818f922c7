/** What is cut from a text that people publish: the secrets that are known, and what is a credential wherever it stands. */
import { XML_ESCAPES } from '../../vcenter/wire/soap.ts'

const REDACTED = '[redacted]'

/** A text in which these secrets are cut in each form that they may have, and whatever looks like a credential. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const forms = secrets.flatMap(formsOf)
  const known = [...new Set(forms)].filter((form) => form !== '').sort((a, b) => b.length - a.length)
  const cut = known.reduce((all, form) => all.replaceAll(form, REDACTED), text)
  return CREDENTIALS.reduce((all, pattern) => all.replace(pattern, REDACTED), cut)
}

/** As it is, in a URL, in XML, in Base64 wherever it stands there; and each of these in JSON, also in a text of JSON in JSON. */
function formsOf(secret: string): readonly string[] {
  const inXML = secret.replace(/[&<>"']/g, (character) => XML_ESCAPES[character] ?? character)
  const plain = [secret, encodeURIComponent(secret), inXML, ...inBase64(secret)]
  const inJSON = (text: string) => JSON.stringify(text).slice(1, -1)
  // The API server's, which is Go's.
  const inGoJSON = (text: string) =>
    inJSON(text).replace(/[&<>]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`)
  return plain.flatMap((form) => [form, inJSON(form), inJSON(inJSON(form)), inGoJSON(form)])
}

/** Characters of Base64 that are too few to be told from other words. */
const LEAST_BASE64 = 8

/** What of the Base64 of a longer text depends on this part of it alone, after any number of bytes. */
function inBase64(secret: string): readonly string[] {
  const bytes = Buffer.from(secret)
  const parts = [0, 1, 2].flatMap((before) => {
    const all = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    const part = all.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6))
    return part.length < LEAST_BASE64 ? [] : [part, part.replaceAll('+', '-').replaceAll('/', '_')]
  })
  return [bytes.toString('base64'), ...parts]
}

/** What is a credential wherever it stands: in a URL, in a header, a token of the API server, a private key. */
const CREDENTIALS: readonly RegExp[] = [
  /(?<=\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/"'\\]+(?=@)/gi,
  /(?<=\b(?:bearer|basic) )[\w+/.=~-]{8,}/gi,
  /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----/g,
]
