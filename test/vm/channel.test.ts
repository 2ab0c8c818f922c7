import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Channel, openChannel } from './channel.ts'

/** A channel, and the machine's end of it. */
async function connected(t: Test): Promise<{ channel: Channel; machine: Socket }> {
  const path = join(t.testdir(), 'channel')
  const server = createServer().listen(path)
  await once(server, 'listening')
  const accepted = once(server, 'connection')
  const channel = await openChannel(path)
  const [machine] = await accepted
  t.teardown(() => {
    channel.close()
    server.close()
  })
  return { channel, machine }
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

t.test('commands are answered by their numbers', async (t) => {
  const { channel, machine } = await connected(t)
  let asked = ''
  machine.on('data', (text) => {
    asked += text
    if (asked.split('\n').length < 3) return
    machine.write(`2 7 ${base64('two\nlines')}\n1 0 \n`)
  })
  const first = channel.run('true')
  t.same(await channel.run("echo 'two'"), { code: 7, text: 'two\nlines' })
  t.same(await first, { code: 0, text: '' })
  t.equal(asked, `1 ${base64('true')}\n2 ${base64("echo 'two'")}\n`)
})

t.test('the machine says that it is up', async (t) => {
  const { channel, machine } = await connected(t)
  machine.write('hello 8f2c\n')
  t.equal(await channel.booted(), '8f2c')
})

t.test('a machine that ends fails what waits for it', async (t) => {
  const { channel, machine } = await connected(t)
  const waiting = [t.rejects(channel.run('true'), /has ended/), t.rejects(channel.booted(), /has ended/)]
  machine.end()
  await Promise.all(waiting)
})
