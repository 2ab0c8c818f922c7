import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import t from 'tap'
import { until } from '../fixtures/until.ts'

const script = `
import { startCluster } from ${JSON.stringify(import.meta.resolve('./start-cluster.ts'))}
import { startVcsim } from ${JSON.stringify(import.meta.resolve('./vcsim.ts'))}
const cluster = await startCluster()
const vcsim = await startVcsim({ vms: 1 })
console.log(JSON.stringify({ dirs: [cluster.dir, vcsim.dir], urls: [cluster.url, vcsim.url, vcsim.controlUrl] }))
`

async function answers(url: string): Promise<boolean> {
  // A certificate that nobody trusts is an answer too; only a refused connection is none.
  return fetch(url).then(
    () => true,
    (error: Error) => !String((error.cause as Error).message).includes('ECONNREFUSED'),
  )
}

t.test('a killed test leaves neither servers nor folders', async (t) => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  const { dirs, urls } = JSON.parse(line) as { dirs: string[]; urls: string[] }
  for (const url of urls) t.ok(await answers(url), `${url} answers`)
  child.kill('SIGKILL')
  await once(child, 'exit')

  const left = async () => [
    ...dirs.filter((dir) => existsSync(dir)),
    ...(await Promise.all(urls.map(async (url) => ((await answers(url)) ? [url] : [])))).flat(),
  ]
  await until('nothing is left', async () => (await left()).length === 0)
})
