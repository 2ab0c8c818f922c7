import t from 'tap'
import type { LeaseName } from '../../kubernetes/lease.ts'
import { DEFAULT_LEASE, findManagers } from './find-cpi.ts'
import { judgeInterlock, type Own } from './judge-interlock.ts'
import { type CPIObjectChanges, cpiObject } from './testing/cpi-object.ts'
import { parseWorkload } from './workloads.ts'

const OWN: Own = {
  lease: { namespace: 'kube-system', name: 'rollcall-controller' },
  controllers: { node: true, lifecycle: true },
}
const RUNNING = { status: { currentNumberScheduled: 1, updatedNumberScheduled: 1 } }
const ROLLING = { status: { currentNumberScheduled: 2, updatedNumberScheduled: 1 } }
const AWS = { name: 'aws', image: 'example.com/aws-cloud-controller-manager:1' }

type Leads = (lease: LeaseName) => boolean | undefined
const nobody: Leads = () => false
const somebody: Leads = () => true
const unreadable: Leads = () => undefined
const by =
  (name: string): Leads =>
  (lease) =>
    lease.name === name

function managers(...workloads: (readonly [readonly string[], CPIObjectChanges?])[]) {
  return findManagers(
    workloads.flatMap(([args, changes]) => parseWorkload('DaemonSet', cpiObject(args, changes)) ?? []),
  )
}

/** What runs, who leads, and what is said: of a hold its message, else the remarks. */
const ROWS: {
  what: string
  managers: ReturnType<typeof managers> | undefined
  leads: Leads
  own?: Partial<Own>
  held?: RegExp
  remark?: RegExp
}[] = [
  { what: 'nothing at all', managers: managers(), leads: nobody },
  {
    what: 'a CPI that leads',
    managers: managers([[]]),
    leads: somebody,
    held: /DaemonSet kube-system\/cpi holds the Lease kube-system\/cloud-controller-manager; stop it, or .*; this controller takes over by itself when that Lease expires$/,
  },
  { what: 'a CPI that does not', managers: managers([[], RUNNING]), leads: nobody },
  {
    what: 'a CPI with a Lease of its own',
    managers: managers([['--leader-elect-resource-name=own']]),
    leads: by('own'),
    held: /Lease kube-system\/own/,
  },
  {
    what: 'a CPI whose Lease may not be read, by its Pods',
    managers: managers([['--leader-elect-resource-name=own'], RUNNING]),
    leads: (lease) => (lease.name === 'own' ? undefined : false),
    held: /is not allowed to read \(add its name to the Role.*after its last Pod is gone$/,
  },
  {
    what: 'the same without Pods',
    managers: managers([['--leader-elect-resource-name=own']]),
    leads: (lease) => (lease.name === 'own' ? undefined : false),
  },
  {
    what: 'a CPI without election, by its Pods',
    managers: managers([['--leader-elect=false'], RUNNING]),
    leads: nobody,
    held: /runs without leader election.*after its last Pod is gone$/,
  },
  { what: 'the same without Pods', managers: managers([['--leader-elect=false']]), leads: nobody },
  {
    what: 'a good neighbor',
    managers: managers([['--controllers=service,route'], RUNNING]),
    leads: somebody,
  },
  {
    what: 'one that is about to be a good neighbor',
    managers: managers([['--controllers=service,route'], ROLLING]),
    leads: somebody,
    held: /some of its Pods still run with its former arguments/,
  },
  { what: "another cloud's manager", managers: managers([[], AWS]), leads: somebody },
  {
    what: "a CPI that has another cloud's Lease",
    managers: managers([[]], [[], AWS]),
    leads: somebody,
    held: /DaemonSet kube-system\/aws of another cloud uses that Lease too/,
  },
  {
    what: 'somebody whom no workload explains',
    managers: managers(),
    leads: somebody,
    held: /static Pod.*annotate lease cloud-controller-manager rollcall.dev\/handles-nodes=false$/,
  },
  {
    what: 'somebody, where workloads may not be listed',
    managers: undefined,
    leads: somebody,
    held: /apply rbac.yaml/,
  },
  {
    what: 'nobody, where workloads may not be listed',
    managers: undefined,
    leads: nobody,
    remark: /is not allowed to list DaemonSets and Deployments of kube-system; apply rbac.yaml/,
  },
  {
    what: 'a Lease that may not be read',
    managers: managers(),
    leads: unreadable,
    remark: /is not allowed to read the Lease /,
  },
  {
    what: 'nothing that may be read',
    managers: undefined,
    leads: unreadable,
    remark: /is not allowed to list .* or to read the Lease/,
  },
  {
    what: 'a CPI that competes for the Lease which this controller has',
    managers: managers([[], RUNNING]),
    leads: unreadable,
    own: { lease: DEFAULT_LEASE },
  },
  {
    what: 'a CPI that does the other half',
    managers: managers([['--controllers=cloud-node'], RUNNING]),
    leads: somebody,
    own: { controllers: { node: false, lifecycle: true } },
  },
  {
    what: 'a CPI that does the same half',
    managers: managers([['--controllers=cloud-node'], RUNNING]),
    leads: somebody,
    own: { controllers: { node: true, lifecycle: false } },
    held: /stop it/,
  },
  {
    what: 'whatever there is, where this controller does nothing',
    managers: undefined,
    leads: somebody,
    own: { controllers: { node: false, lifecycle: false } },
  },
]

for (const { what, managers, leads, own, held, remark } of ROWS) {
  t.test(what, async (t) => {
    const { interlock, remarks } = judgeInterlock({ managers, leads }, { ...OWN, ...own })
    if (held === undefined) t.same(interlock, { state: 'open' })
    else t.match(interlock, { state: 'held', message: held })
    t.match(remarks, remark === undefined ? [] : [remark])
    t.equal(remarks.length, remark === undefined ? 0 : 1)
    if (interlock.state === 'held') t.ok(interlock.message.length < 1000, 'a condition has room for it')
  })
}
