import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../fixtures/until.ts'

/** The path of a Chromium; undefined where there is none. */
export function findChromium(): string | undefined {
  for (const name of ['chromium', 'chromium-browser', 'google-chrome']) {
    const { status, stdout } = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' })
    if (status === 0) return stdout.trim()
  }
  return undefined
}

/** One page in a headless browser. */
export interface Browser extends AsyncDisposable {
  /** Opens a file, in a window of this width, with this color scheme. */
  open(file: string, width: number, scheme?: 'light' | 'dark'): Promise<void>
  /** The value of an expression in the page. */
  evaluate<T>(expression: string): Promise<T>
  /** A PNG of the top of the page; of the whole page where no height is given. */
  screenshot(height?: number): Promise<Buffer>
}

interface Answer {
  readonly id?: number
  readonly method?: string
  readonly result?: unknown
  readonly error?: { readonly message: string }
}

/** Starts Chromium, and speaks its DevTools protocol. */
export async function startChromium(program: string): Promise<Browser> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-chromium-'))
  const browser = spawn(
    program,
    [
      ...'--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --hide-scrollbars'.split(' '),
      ...'--disable-background-networking --disable-component-update --disable-sync'.split(' '),
      '--remote-debugging-port=0',
      `--user-data-dir=${folder}`,
      'about:blank',
    ],
    { stdio: 'ignore' },
  )
  const ended = once(browser, 'exit')
  const port = await until(
    'the browser says its port',
    async () =>
      (await readFile(join(folder, 'DevToolsActivePort'), 'utf8').catch(() => '')).split('\n')[0] ||
      undefined,
  )
  const pages = await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()
  const { webSocketDebuggerUrl } = (pages as { type: string; webSocketDebuggerUrl: string }[]).find(
    ({ type }) => type === 'page',
  ) ?? { webSocketDebuggerUrl: '' }
  const socket = new WebSocket(webSocketDebuggerUrl)
  await once(socket, 'open')
  const waiting = new Map<number | string, (answer: Answer) => void>()
  socket.addEventListener('message', ({ data }) => {
    const answer: Answer = JSON.parse(String(data))
    const key = answer.id ?? answer.method ?? ''
    waiting.get(key)?.(answer)
    waiting.delete(key)
  })
  const next = (key: number | string) => new Promise<Answer>((resolve) => waiting.set(key, resolve))
  let calls = 0
  async function call<T>(method: string, params: object = {}): Promise<T> {
    calls += 1
    const answered = next(calls)
    socket.send(JSON.stringify({ id: calls, method, params }))
    const { result, error } = await answered
    if (error !== undefined) throw new Error(`${method}: ${error.message}`)
    return result as T
  }
  await call('Page.enable')
  let width = 0
  return {
    async open(file, wide, scheme = 'light') {
      width = wide
      await call('Emulation.setDeviceMetricsOverride', {
        width,
        height: 900,
        deviceScaleFactor: 1,
        mobile: false,
      })
      await call('Emulation.setEmulatedMedia', {
        features: [{ name: 'prefers-color-scheme', value: scheme }],
      })
      const loaded = next('Page.loadEventFired')
      await call('Page.navigate', { url: `file://${file}` })
      await loaded
    },
    async evaluate<T>(expression: string) {
      const { result, exceptionDetails } = await call<{ result: { value: T }; exceptionDetails?: object }>(
        'Runtime.evaluate',
        { expression, returnByValue: true },
      )
      if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails))
      return result.value
    },
    async screenshot(height) {
      const clip = { x: 0, y: 0, width, height: height ?? 0, scale: 1 }
      if (height === undefined) {
        const { cssContentSize } = await call<{ cssContentSize: { height: number } }>('Page.getLayoutMetrics')
        clip.height = Math.min(cssContentSize.height, 8_000)
      }
      const { data } = await call<{ data: string }>('Page.captureScreenshot', {
        clip,
        captureBeyondViewport: true,
      })
      return Buffer.from(data, 'base64')
    },
    async [Symbol.asyncDispose]() {
      socket.close()
      browser.kill()
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}
