import t from 'tap'
import { startServer } from './processes.ts'

const shell = (script: string) => ({ name: 'example', command: '/bin/sh', args: ['-c', script] })

t.test('is ready at its first line, and stops when asked', async (t) => {
  const server = await startServer(shell('echo ready; echo more >&2; exec cat'))
  t.equal(server.firstLine, 'ready')
  await server.stop()
  t.throws(() => process.kill(server.pid, 0), { code: 'ESRCH' })
  t.match(server.log(), /ready/)
})

t.test('is ready when the question is answered', async (t) => {
  let asked = 0
  const ready = async () => {
    asked += 1
    if (asked < 3) throw new Error('not yet')
  }
  const server = await startServer({ ...shell('exec cat'), ready })
  t.equal(asked, 3)
  await server.stop()
})

t.test('is killed when it does not stop', async (t) => {
  const server = await startServer(shell('trap "" TERM; echo ready; while :; do sleep 0.1; done'))
  await server.stop(200)
  t.throws(() => process.kill(server.pid, 0), { code: 'ESRCH' })
})

t.test('says why it did not start', async (t) => {
  await t.rejects(startServer(shell('echo no disk >&2; exit 1')), {
    message: 'example ended before it was ready:\nno disk',
  })
  await t.rejects(startServer({ ...shell('exec cat'), readyWithin: 100 }), /example was not ready in 100 ms/)
  await t.rejects(startServer({ name: 'example', command: '/nonexistent', args: [] }), /ENOENT/)
})
