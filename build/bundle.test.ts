import t from 'tap'
import { requireLatin1 } from './bundle.ts'

t.test('a bundle that V8 would hold in two bytes a character is refused, and says where', (t) => {
  t.throws(
    () => requireLatin1('const unit = String.raw`[u\u03bc]s`'),
    /outside Latin-1.*String\.raw`\[u\u03bc\]s`/,
  )
  t.doesNotThrow(() => requireLatin1(String.raw`const unit = /[u\u00b5\u03bc]s/`))
  t.doesNotThrow(() => requireLatin1('const unit = "\u00b5s"'))
  t.end()
})
