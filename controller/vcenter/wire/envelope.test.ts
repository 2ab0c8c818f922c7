import t from 'tap'
import { element, envelope, escapeText, reference } from './envelope.ts'
import { child, readXML, textOf } from './xml.ts'

t.test('any password survives', async (t) => {
  for (const password of ['a&b<c>"\'', ']]>', '$&', ' x ', 'a\r\nb\tc', 'pässwörd😀', '&amp;']) {
    const text = envelope(
      'Login',
      { type: 'SessionManager', value: 'S' },
      element('password', password),
      'o-1',
    )
    const document = await readXML(
      (async function* () {
        yield new TextEncoder().encode(text)
      })(),
      'Envelope',
    )
    t.equal(textOf(child(child(document, 'Body'), 'Login'), 'password'), password)
    t.equal(textOf(child(document, 'Header'), 'operationID'), 'o-1')
  }
})

t.test('what XML cannot carry is refused, without being repeated', (t) => {
  for (const text of ['a\u0000b', 'a\u0007b', '\ud800']) {
    t.throws(() => escapeText(text), {
      reason: 'UnusableValue',
      message: /^a value for vCenter holds a control character, which/,
    })
  }
  t.end()
})

t.test('references', (t) => {
  t.equal(
    reference('obj', { type: 'VirtualMachine', value: 'vm-1' }),
    '<obj type="VirtualMachine">vm-1</obj>',
  )
  t.equal(reference('obj', { type: '"', value: '<' }), '<obj type="&quot;">&lt;</obj>')
  t.end()
})
