import t from 'tap'
import { html } from './html.ts'

t.test('what is put into a page is text, whatever it holds', async (t) => {
  const evil = `</p><script>alert("1")</script><img src=x onerror='x'>&amp;`
  t.equal(html`<p title="${evil}">${evil}</p>`.text, `<p title="${shown(evil)}">${shown(evil)}</p>`)
  t.equal(html`${'a\u202eb\u2066c\u0000d\u2028e\u200ff'}`.text, 'a\ufffdb\ufffdc\ufffdd\ufffde\ufffdf')
  t.ok(html`${'<'.repeat(1 << 20)}`.text.length < 5_000, 'and is not long')
})

t.test('pieces are put together as they are, and nothing where there is none', async (t) => {
  const items = ['<a>', 'b'].map((name) => html`<li>${name}</li>`)
  t.equal(html`<ul>${items}${undefined}${3}</ul>`.text, '<ul><li>&lt;a&gt;</li><li>b</li>3</ul>')
})

function shown(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}
