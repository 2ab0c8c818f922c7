/** What is broken on a machine, and the first failing line of `rollcall-agent doctor`, which must name it. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t from 'tap'
import type { Line } from '../../agent/shared/diagnosis.ts'
import { GUESTINFO_CLAIM } from '../../agent/shared/node-report.ts'
import { claimVariable } from '../fixtures/claim.ts'
import { until } from '../fixtures/until.ts'
import { applyManifests } from '../servers/manifests.ts'
import { builtProgram, runProgram, startProgram } from '../world/program.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 2 })
const { cluster, reports, vcsim } = stage
const member = await stage.member('worker-1')
const other = await stage.member('worker-2', { rpctool: null })
const KUBELET = join(member.root, 'proc/7/cmdline')
await mkdir(dirname(KUBELET), { recursive: true })
await writeFile(KUBELET, 'kubelet\0--cloud-provider=external\0')

t.test('before the first report, and after it', async (t) => {
  const seen = await doctor()
  t.equal(seen.code, 0)
  t.same(seen.failed, [])
  t.match(
    seen.lines.find(({ check }) => check === 'claim'),
    { status: 'warn', message: /is not set/ },
  )
  t.same(reports.of(member.name), [], 'nothing was sent')
  await member.reportOnce()
  const after = await doctor()
  t.same(
    after.lines.filter(({ status }) => status !== 'ok'),
    [],
  )
  t.equal(reports.of(member.name).length, 1)

  await t.test('a claim without a nonce is one that the agent writes anew', async (t) => {
    const claim = { nodeUID: member.uid, bootID: member.bootID }
    await vcsim.setGuestinfo(claimVariable(member.vm.ref, claim))
    t.match(
      (await doctor()).lines.filter(({ status }) => status !== 'ok'),
      [{ check: 'claim', status: 'warn', message: /without a nonce.*--once/ }],
    )
  })
})

t.test('the nonce of the claim is in nothing that the agent prints or sends', async (t) => {
  const options = [`--root=${member.root}`, `--kubeconfig=${member.kubeconfig}`]
  const once = await member.agent('--once', '--log-level=debug')
  t.equal((await once.ended).code, 0)
  const [, , bootID, nonce = 'none'] =
    (await vcsim.getGuestinfo(member.vm.ref, GUESTINFO_CLAIM))?.split(' ') ?? []
  t.match({ bootID, nonce }, { bootID: member.bootID, nonce: /^[0-9a-f]{32}$/ })
  for (const args of [['--print'], ['doctor'], ['doctor', '--output=json']]) {
    const { code, output, text } = await runProgram('rollcall-agent', ...args, ...options)
    t.equal(code, 0)
    t.notMatch(output + text, nonce, args.join(' '))
  }
  t.notMatch(once.output(), nonce, 'the log')
  t.notMatch(JSON.stringify(reports.of(member.name)), nonce, 'the report')
})

t.test('of the system itself it says what it can, and never fails for what it cannot', async (t) => {
  const program = startProgram({
    command: await builtProgram('rollcall-agent'),
    args: ['doctor', '--kubeconfig=/nowhere/kubelet.conf'],
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
  })
  t.equal((await program.ended).code, 1)
  t.match(program.output(), /^fail {2}credential +kubeconfig \/nowhere\/kubelet\.conf is not there$/m)
  t.match(program.output(), /^ok {4}system +\S.*kernel/m)
  t.notMatch(program.output(), /\n {4}at /, 'no stack')
})

t.test('where no hypervisor of VMware answers, it can be reported, not proven', async (t) => {
  const seen = await doctor({ root: other.root, kubeconfig: other.kubeconfig })
  t.match(
    seen.lines.find(({ check }) => check === 'guest RPC'),
    { status: 'warn', message: /no VMware hypervisor answers.*never "proven"/ },
  )
})

const stranger = await cluster.kubeconfig({ user: 'somebody', groups: [] })
const unregistered = await cluster.kubeconfig({ user: 'system:node:nobody', groups: ['system:nodes'] })
const SERIAL = join(member.root, 'sys/class/dmi/id/product_serial')

const cases: readonly Case[] = [
  {
    what: 'no serial number',
    breaks: broken(SERIAL),
    check: 'BIOS UUID',
    says: /product_serial is not there/,
  },
  {
    what: 'a machine that is no vSphere VM',
    breaks: broken(SERIAL, 'PF3LABCD\n'),
    check: 'BIOS UUID',
    says: /not a VMware serial number/,
  },
  {
    what: 'no kubeconfig',
    kubeconfig: '/nowhere/kubelet.conf',
    check: 'credential',
    says: /kubelet\.conf is not there/,
  },
  {
    what: 'a credential of no node',
    kubeconfig: stranger,
    check: 'API server',
    says: /belongs to no node/,
  },
  {
    what: 'a Node that is not registered',
    kubeconfig: unregistered,
    check: 'API server',
    says: /Node "nobody" is not registered yet/,
  },
  {
    what: 'no rights',
    breaks: async () => {
      await cluster.request('DELETE', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/rollcall-agent')
      return () => applyManifests(cluster, ['rbac.yaml'])
    },
    check: 'report',
    says: /grant create and patch on nodereports/,
  },
  {
    what: 'a kubelet without the flag',
    breaks: broken(KUBELET, 'kubelet\0'),
    check: 'kubelet',
    says: /without --cloud-provider=external/,
  },
]

for (const { what, kubeconfig, breaks, check, says } of cases)
  t.test(what, async (t) => {
    const mend = await breaks?.()
    try {
      const seen = await until(`the first failing line is "${check}"`, async () => {
        const seen = await doctor({ ...(kubeconfig === undefined ? {} : { kubeconfig }) })
        return (breaks === undefined || seen.failed[0]?.check === check) && seen
      })
      t.match(seen.failed[0], { check, message: says })
      t.equal(seen.code, 1)
    } finally {
      await mend?.()
    }
  })

t.test('no CRD', async (t) => {
  await cluster.request(
    'DELETE',
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodereports.rollcall.dev',
  )
  const seen = await until('that is noticed', async () => {
    const seen = await doctor()
    return seen.failed[0]?.check === 'report' && seen
  })
  t.match(seen.failed[0]?.message, /apply Rollcall's CRD/)
})

async function doctor({ root = member.root, kubeconfig = member.kubeconfig } = {}) {
  const options = [`--root=${root}`, `--kubeconfig=${kubeconfig}`, '--output=json']
  const { code, text, output } = await runProgram('rollcall-agent', 'doctor', ...options)
  if (!text.startsWith('{')) throw new Error(`doctor said no JSON: ${output}`)
  const { checks }: { checks: Line[] } = JSON.parse(text)
  return { code, lines: checks, failed: checks.filter(({ status }) => status === 'fail') }
}

interface Case {
  readonly what: string
  readonly kubeconfig?: string
  readonly breaks?: () => Promise<() => Promise<unknown>>
  readonly check: string
  readonly says: RegExp
}

/** Removes a file, or gives it another content. */
function broken(path: string, content?: string) {
  return async () => {
    const before = await readFile(path)
    if (content === undefined) await rm(path)
    else await writeFile(path, content)
    return () => writeFile(path, before)
  }
}
