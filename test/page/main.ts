/**
 * Makes pictures of the page of `status`, to look at: `node test/page/main.ts FOLDER`. `docs/status.png` is `status-10-docs.png`, by
 * `pngquant` or the like in fewer colors.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { runAsProgram } from '../../build/entry.ts'
import { statusPage } from '../../controller/inspect/status/status-page.ts'
import { findChromium, startChromium } from './chromium.ts'
import { sampleCluster } from './sample-cluster.ts'

runAsProgram(async () => {
  const program = findChromium()
  if (program === undefined) throw new Error('there is no Chromium: install it, for example with apt-get')
  const folder = resolve(process.argv[2] ?? 'dist/page')
  await mkdir(folder, { recursive: true })
  await using browser = await startChromium(program)
  for (const size of [10, 200, 2_000]) {
    const file = join(folder, `status-${size}.html`)
    const made = { at: '2026-03-01T10:03:20Z', version: '0.1.0', context: 'prod' }
    await writeFile(file, statusPage({ ...made, ...sampleCluster(size) }))
    for (const [name, width, scheme, height] of [
      ['light', 1_280, 'light', 1_100],
      ['dark', 1_280, 'dark', 1_100],
      ['narrow', 390, 'light', 1_600],
      ['whole', 1_280, 'light', undefined],
      ['docs', 1_000, 'light', 1_380],
    ] as const) {
      await browser.open(file, width, scheme)
      await writeFile(join(folder, `status-${size}-${name}.png`), await browser.screenshot(height))
    }
  }
  process.stdout.write(`${folder}\n`)
})
