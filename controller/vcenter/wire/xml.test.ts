import { setFlagsFromString } from 'node:v8'
import { runInThisContext } from 'node:vm'
import { SaxesParser } from 'saxes'
import t from 'tap'
import { VCenterError } from './errors.ts'
import {
  child,
  childrenOf,
  MAX_BYTES,
  MAX_BYTES_BY_RECORD,
  MAX_RECORD_VALUE,
  readXML,
  textOf,
  type XMLElement,
} from './xml.ts'

async function* bytes(text: string, size = 7): AsyncGenerator<Uint8Array> {
  const all = new TextEncoder().encode(text)
  for (let i = 0; i < all.length; i += size) yield all.subarray(i, i + size)
}

async function* repeated(
  start: string,
  block: string,
  times: number,
  end: string,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  yield encoder.encode(start)
  const chunk = encoder.encode(block)
  for (let i = 0; i < times; i++) yield chunk
  yield encoder.encode(end)
}

const XSI = 'http://www.w3.org/2001/XMLSchema-instance'

/** As many bytes of text, in characters of four bytes each: the reader's work is by the character. */
const textOfBytes = (bytes: number) => '\u{1F600}'.repeat(bytes / 4)

t.test('types are found by namespace, whatever the prefix', async (t) => {
  const read = await readXML(
    bytes(
      `<a xmlns:q="${XSI}" xmlns:xsi="urn:other" xmlns:s="urn:s"><b type="Folder" q:type="s:Ref" xsi:type="no">g-1</b></a>`,
    ),
    'a',
  )
  t.match(child(read, 'b'), { name: 'b', type: 'Ref', kind: 'Folder', text: 'g-1' })
})

t.test(
  'a prefix counts in the element that declares it, wherever its declaration stands, and nowhere else',
  async (t) => {
    const read = await readXML(
      bytes(
        `<a xmlns:p="urn:other"><b p:type="inner" xmlns:p="${XSI}"><p:c type="K" p:type="C"/></b><d p:type="no"/><e xml:lang="en"/></a>`,
      ),
      'a',
    )
    t.match(child(read, 'b'), { type: 'inner', kind: undefined })
    t.match(child(child(read, 'b'), 'c'), { type: 'C', kind: 'K' })
    t.match(child(read, 'd'), { type: undefined, kind: undefined })
    t.ok(child(read, 'e'))
  },
)

t.test('values stay text', async (t) => {
  const values = ['1e100000-0000-4000-8000-000000000000', '0x10', '007', 'true', ' spaced ', 'ü&<>"']
  const written = values.map((value) => value.replaceAll('&', '&amp;').replaceAll('<', '&lt;'))
  const read = await readXML(bytes(`<a>${written.map((value) => `<v>${value}</v>`).join('')}</a>`), 'a')
  t.same(
    childrenOf(read, 'v').map((each) => each.text),
    values,
  )
})

t.test('one element of a list is a list', async (t) => {
  t.equal(childrenOf(await readXML(bytes('<a><v>1</v></a>'), 'a'), 'v').length, 1)
  t.equal(childrenOf(undefined, 'v').length, 0)
})

t.test('an empty text is none; predefined entities and CDATA are text', async (t) => {
  const read = await readXML(
    bytes('<a><n>config.extraConfig[&#34;k&#34;]</n><e/><c><![CDATA[<x>]]></c></a>'),
    'a',
  )
  t.equal(textOf(read, 'n'), 'config.extraConfig["k"]')
  t.equal(textOf(read, 'e'), undefined)
  t.equal(textOf(read, 'c'), '<x>')
})

t.test('records are handed over at their depth and name, and not kept', async (t) => {
  const records: XMLElement[] = []
  const document = '<a><r><o><o>inner</o></o><o/><token>t</token></r></a>'
  const read = await readXML(bytes(document), 'a', {
    name: 'o',
    depth: 3,
    take: (record) => records.push(record),
  })
  t.equal(records.length, 2)
  t.equal(textOf(records[0], 'o'), 'inner')
  t.same(
    child(read, 'r')?.children.map((each) => each.name),
    ['token'],
  )
})

t.test('what cannot be read is refused by kind', async (t) => {
  const deep = `<a>${'<b>'.repeat(100)}${'</b>'.repeat(100)}</a>`
  const cases: readonly [string, string, string, RegExp][] = [
    ['truncated', '<a><b>', 'MalformedAnswer', /well-formed/],
    ['truncated in a tag', '<a><b', 'MalformedAnswer', /well-formed/],
    ['empty', '', 'MalformedAnswer', /./],
    ['no markup', 'Bad gateway', 'MalformedAnswer', /well-formed/],
    ['two roots', '<a/><a/>', 'MalformedAnswer', /well-formed/],
    ['DOCTYPE', '<!DOCTYPE a><a/>', 'MalformedAnswer', /DOCTYPE/],
    ['entities', '<!DOCTYPE a [<!ENTITY x "boom">]><a>&x;</a>', 'MalformedAnswer', /DOCTYPE/],
    ['undefined entity', '<a>&x;</a>', 'MalformedAnswer', /well-formed/],
    ['unbound prefix', '<a><z:b/></a>', 'MalformedAnswer', /well-formed/],
    ['unbound prefix of an attribute', '<a><b z:c=""/></a>', 'MalformedAnswer', /well-formed/],
    ['a prefix of an element before', '<a><b xmlns:z="urn:z"/><z:b/></a>', 'MalformedAnswer', /well-formed/],
    ['two prefixes', '<a xmlns:z="urn:z"><z:z:b/></a>', 'MalformedAnswer', /well-formed/],
    ['no name behind a prefix', '<a xmlns:z="urn:z"><z:/></a>', 'MalformedAnswer', /well-formed/],
    ['no prefix', '<a><:b/></a>', 'MalformedAnswer', /well-formed/],
    ['deep nesting', deep, 'MalformedAnswer', /64 levels/],
    ['HTML', '<!DOCTYPE html><html><br></html>', 'NotVCenter', /HTML/],
    ['HTML without DOCTYPE', '<html><body></body></html>', 'NotVCenter', /HTML/],
    ['another root', '<rss/>', 'NotVCenter', /rss/],
  ]
  for (const [name, text, reason, message] of cases) {
    for (const size of [1, 1_000]) {
      const error = await readXML(bytes(text, size), 'a').catch((error: unknown) => error)
      t.ok(error instanceof VCenterError, name)
      t.match(error, { reason, message }, name)
    }
  }
})

t.test('characters that XML does not allow cost nothing but themselves', async (t) => {
  const cases: readonly [string, string][] = [
    ['&#x1;', '\uFFFD'],
    ['&#0000000000000001;', '\uFFFD'],
    ['&#xD800;&#xDC00;', '\uFFFD\uFFFD'],
    ['&#xFFFF;&#x110000;&#99999999999999999999;', '\uFFFD\uFFFD\uFFFD'],
    ['\u0001\u001b[31m\u0000\uFFFF\uFFFE', '\uFFFD\uFFFD[31m\uFFFD\uFFFD\uFFFD'],
    ['&#x9;&#10;&#x10FFFF;&#233;\u{1F600}\u0085', '\t\n\u{10FFFF}é\u{1F600}\u0085'],
    ['&amp;#1;&amp;#x1;', '&#1;&#x1;'],
  ]
  for (const [written, text] of cases) {
    for (const size of [1, 2, 3, 5, 1_000]) {
      t.equal(
        textOf(await readXML(bytes(`<a><v>x${written}y</v></a>`, size), 'a'), 'v'),
        `x${text}y`,
        written,
      )
    }
  }
  async function* notUTF8() {
    yield new TextEncoder().encode('<a><v>x')
    yield new Uint8Array([0xff, 0xc3])
    yield new TextEncoder().encode('(</v></a>')
  }
  t.equal(textOf(await readXML(notUTF8(), 'a'), 'v'), 'x\uFFFD\uFFFD(')
  for (const text of ['<a>&#x1', '<a>&#</a>', '<a>&#x;</a>', '<a>&#1a;</a>', '<a>&#xg;</a>']) {
    await t.rejects(readXML(bytes(text, 1), 'a'), { reason: 'MalformedAnswer', message: /well-formed/ }, text)
  }
})

t.test('limits of size', async (t) => {
  const block = `<o>${'x'.repeat(1_000)}</o>`
  const whole = repeated('<a>', block, Math.ceil(MAX_BYTES / block.length) + 1, '</a>')
  await t.rejects(readXML(whole, 'a'), { reason: 'MalformedAnswer', message: /longer than 1 MB/ })

  let records = 0
  const by = { name: 'o', depth: 2, take: () => records++ }
  const more = repeated(
    '<a>',
    `<o>${textOfBytes((1 << 20) - 8)}</o>`,
    (MAX_BYTES_BY_RECORD >> 20) + 1,
    '</a>',
  )
  const error = await readXML(more, 'a', by).catch((error: unknown) => error)
  t.match(error, { name: 'TooLongError', reason: 'MalformedAnswer', message: /longer than 64 MB/ })
  t.match(error, { records }, 'it says how much came before')
  t.ok(records >= 63, `${records} records of 1 MB are read before`)
  const wide = repeated('<a><p>', '<i/>'.repeat(10_000), 11, '</p></a>')
  await t.rejects(readXML(wide, 'a', by), { message: /100000 elements/ })
})

t.test('what is held at once stays small, whatever an answer is made of', async (t) => {
  const by = { name: 'r', depth: 3, take() {} }
  const page = ['<a><b>', '</b></a>'] as const
  function* attributes() {
    for (let i = 0; i < 2_000; i++) yield ` a${i}=""`
  }
  const declared = (from: number) =>
    Array.from({ length: 40 }, (_, i) => `xmlns:n${from + i}="urn:${i}"`).join(' ')
  const text = 'x'.repeat(100_000)
  const cases: readonly [string, string, number, RegExp][] = [
    ['siblings of records', `${'<a/>'.repeat(15_000)}<r/>`, 8, /100000 elements/],
    ['attributes', `<c ${[...attributes()].join('')}/>`, 1, /64 attributes/],
    [
      'namespaces, an element within another',
      `<c ${declared(0)}><c ${declared(40)}><r/></c></c>`,
      1,
      /64 namespaces/,
    ],
    ['a long attribute', `<c d="${'x'.repeat(1 << 18)}`, 2, /longer than 256 kB/],
    ['text', '&amp;'.repeat(20_000), 100, /longer than 8192 kB/],
    ['a comment', `<!--${text.repeat(100)}-->`, 1, /longer than 8192 kB/],
    ['text outside of records', `<c>${text}</c><r/>`, 11, /too much text/],
    ['names outside of records', `<${text}/><r/>`, 11, /too much text/],
  ]
  for (const [name, block, times, message] of cases) {
    const body = repeated(page[0], block, times, page[1])
    await t.rejects(readXML(body, 'a', by), { reason: 'MalformedAnswer', message }, name)
  }
  const large = `<r>${`<c>${text}</c>`.repeat(30)}${'<c/>'.repeat(60_000)}</r>`
  await readXML(repeated(page[0], large, 2, page[1]), 'a', by)
  t.pass('records of 3 MB, one after the other')
})

t.test('a record that exceeds the limits spoils no other', async (t) => {
  const value = 'x'.repeat(50_000)
  const cases: readonly [string, string, boolean][] = [
    ['nothing', '', true],
    ['a value of 1 MB, each character escaped', `<v>${'&quot;'.repeat(1 << 20)}</v>`, true],
    ['three megabytes in all', `<v>${value}</v>`.repeat(60), true],
    ['five megabytes in all', `<v>${value}</v>`.repeat(100), false],
    ['elements without end', '<v/>'.repeat(100_001), false],
    ['elements in an element', `<v>${'<w/>'.repeat(100_001)}</v>`, false],
  ]
  let longest = 0
  for (const [name, inside, expected] of cases) {
    const taken: (readonly [string | undefined, boolean])[] = []
    const record = (id: string, more = '') => `<r><id>${id}</id>${more}</r>`
    const document = `<a>${record('1')}${record('2', inside)}${record('3')}<end>e</end></a>`
    const read = await readXML(bytes(document, 1 << 16), 'a', {
      name: 'r',
      depth: 2,
      take(each, whole) {
        taken.push([textOf(each, 'id'), whole])
        longest = Math.max(longest, textOf(each, 'v')?.length ?? 0)
      },
    })
    t.same(taken, [
      ['1', true],
      ['2', expected],
      ['3', true],
    ])
    t.equal(textOf(read, 'end'), 'e', name)
  }
  t.equal(longest, MAX_RECORD_VALUE, 'a value is cut')
})

t.test('the parser stays an object with fast properties, which takes a fifth of the time', async (t) => {
  setFlagsFromString('--allow-natives-syntax')
  const isFast: (object: object) => boolean = runInThisContext('(object) => %HasFastProperties(object)')
  const parsers = new Set<object>()
  const { write } = SaxesParser.prototype
  t.intercept(SaxesParser.prototype, 'write', {
    value(this: SaxesParser, text: string | null) {
      parsers.add(this)
      return write.call(this, text)
    },
  })
  await readXML(bytes('<a type="K"><b>text</b></a>'), 'a')
  t.same([...parsers].map(isFast), [true])
})
