/** The page of `status` in a real browser, as people see it: in the light and in the dark, on a screen and on a telephone. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import t from 'tap'
import { statusPage } from '../../controller/inspect/status/status-page.ts'
import { type Browser, findChromium, startChromium } from './chromium.ts'
import { sampleCluster } from './sample-cluster.ts'

const SIZES = [10, 200, 2_000]
/** WCAG 2, level AA. */
const LEAST_CONTRAST = 4.5

const program = findChromium()
const skip =
  program === undefined && 'there is no Chromium: install it, for example with "apt-get install chromium"'
const browser = program === undefined ? undefined : await startChromium(program)
t.teardown(() => browser?.[Symbol.asyncDispose]())
const folder = t.testdir({})

/** A test in the browser, where there is one. */
function inBrowser(name: string, test: (t: Test, browser: Browser) => Promise<void>) {
  return t.test(name, { skip }, async (t) => browser && test(t, browser))
}

async function written(size: number, changes: Partial<ReturnType<typeof sampleCluster>> = {}) {
  const file = join(folder, `${size}.html`)
  const made = { at: '2026-03-01T10:03:20Z', version: '0.1.0', context: 'prod' }
  await writeFile(file, statusPage({ ...made, ...sampleCluster(size), ...changes }))
  return file
}

/** Opens whatever is closed; what sticks out to the right of the window. */
const OVERFLOWING = `[...document.querySelectorAll('details')].forEach((each) => { each.open = true });
[...document.querySelectorAll('body *')]
  .filter((each) => each.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
  .map((each) => each.outerHTML.slice(0, 120))`

/** Texts whose contrast to what is behind them is too weak. */
const TOO_WEAK = `(() => {
  const channels = (color) => color.match(/[\\d.]+/g).map(Number)
  const luminance = (color) => {
    const [r, g, b] = channels(color).map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const behind = (each) => {
    for (let at = each; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor
      if (channels(color)[3] !== 0) return color
    }
  }
  const found = new Map()
  for (const each of document.querySelectorAll('body *')) {
    if (![...each.childNodes].some((child) => child.nodeType === 3 && child.data.trim())) continue
    const { color } = getComputedStyle(each)
    const key = color + ' on ' + behind(each)
    const [light, dark] = [luminance(color), luminance(behind(each))].sort((a, b) => b - a)
    found.set(key, (light + 0.05) / (dark + 0.05))
  }
  return [...found].map(([key, ratio]) => key + ': ' + ratio.toFixed(2))
})()`

for (const size of SIZES)
  await inBrowser(`${size} Nodes`, async (t, browser) => {
    const file = await written(size)
    for (const scheme of ['light', 'dark'] as const)
      for (const width of [1_280, 390]) {
        const what = `${scheme}, ${width} wide`
        await browser.open(file, width, scheme)
        t.strictSame(await browser.evaluate(OVERFLOWING), [], `${what}: nothing sticks out`)
        const contrasts = await browser.evaluate<string[]>(TOO_WEAK)
        t.ok(contrasts.length > 4, contrasts.join('; '))
        t.strictSame(
          contrasts.filter((each) => Number(each.split(': ')[1]) < LEAST_CONTRAST),
          [],
          `${what}: all can be read`,
        )
      }
    t.equal(await browser.evaluate(`document.querySelectorAll('.node').length`), size)
    t.equal(
      await browser.evaluate(`document.scripts.length + performance.getEntriesByType('resource').length`),
      0,
    )
  })

await inBrowser(
  'what needs a person is on the first screen, and the page is short as it opens',
  async (t, browser) => {
    for (const size of SIZES) {
      await browser.open(await written(size), 1_280)
      const top = (id: string) =>
        browser.evaluate<number>(`document.getElementById('${id}').getBoundingClientRect().top`)
      t.ok((await top('attention')) < 900, `${size} Nodes`)
      t.ok((await top('attention')) < (await top('places')))
      const height = await browser.evaluate<number>('document.body.scrollHeight')
      t.ok(height < 5_000, `${size} Nodes: ${height} pixels`)
    }
  },
)

await inBrowser(
  'without color: each Node has a symbol, and each tone an edge of its own',
  async (t, browser) => {
    await browser.open(await written(200), 1_280)
    const edges = await browser.evaluate<string[]>(
      `[...new Set([...document.querySelectorAll('.node')].map((each) => each.className + ' ' + getComputedStyle(each).borderLeftStyle))]`,
    )
    t.strictSame(edges.toSorted(), [
      'node bad double',
      'node good solid',
      'node note dotted',
      'node warn dashed',
    ])
    t.ok(
      await browser.evaluate(
        `[...document.querySelectorAll('.node b')].every((each) => /^\\S+ \\S/.test(each.textContent))`,
      ),
    )
  },
)

await inBrowser(
  'names that are long, or from strangers, neither run nor break the page',
  async (t, browser) => {
    const { status } = sampleCluster(10)
    const evil = `<script>document.title = 'run'</script><img src=x onerror="document.title = 'run'">\u202e${'x'.repeat(200)}`
    const nodes = status.nodes.map((node) => ({
      ...node,
      ...{ name: evil, host: evil, vm: evil, cluster: `אבג ${evil}`, zone: evil },
      pending: node.pending && { ...node.pending, message: evil },
    }))
    const file = await written(11, { status: { ...status, nodes, leader: evil }, checks: [] })
    for (const width of [1_280, 390]) {
      await browser.open(file, width)
      t.strictSame(await browser.evaluate(OVERFLOWING), [])
      t.equal(await browser.evaluate('document.title'), '10 Nodes in vSphere')
      t.equal(await browser.evaluate(`document.querySelectorAll('script, img').length`), 0)
    }
  },
)
