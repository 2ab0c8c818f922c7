import { type AttackRow, NOTHING, theme } from './row.ts'

const BOTH = 'kubelet or agent'
const OPEN = 'the API server checks the schema before policies: reports are not secret among nodes'
const speaksFor = 'it speaks for Node "worker-1" and may write only the NodeReport of that name'

function byPolicy(tried: string): AttackRow {
  return { credential: BOTH, tried, refusedBy: 'policy own-report', seen: speaksFor, victim: NOTHING }
}

function byRBAC(tried: string, verb = ''): AttackRow {
  const seen = verb === '' ? 'resource "nodereports"' : `cannot ${verb} resource "nodereports`
  return { credential: BOTH, tried, refusedBy: 'RBAC', seen, victim: NOTHING }
}

/** A node turns against the report of another; worker-1 is the attacker, worker-10 the victim. */
export const otherReports = theme("Writing another node's report", {
  create: byPolicy("create the victim's report again"),
  replace: byRBAC('replace it', 'update'),
  patch: byPolicy('patch it: other facts, owner or finalizer, or nothing'),
  apply: byPolicy("apply one's own facts over it by force"),
  delete: byRBAC('delete it', 'delete'),
  'delete all': byRBAC('delete the collection', 'deletecollection'),
  status: byRBAC('write its status', 'patch'),
  'status of its own': byRBAC("call oneself proven, in one's own status", 'patch'),
  'status beside the spec': {
    credential: BOTH,
    tried: "call oneself proven, or the brake engaged, beside one's own spec",
    refusedBy: 'API server',
    seen: 'the status stays as it was',
    victim: NOTHING,
  },
  scale: byRBAC('write scale, log, exec, finalizers', 'patch'),
  rename: {
    credential: BOTH,
    tried: 'one report in the URL, the other in the body',
    refusedBy: 'API server',
    seen: 'the name on the',
    victim: NOTHING,
  },
  read: byRBAC('read or watch it, or all'),
  'read by a refusal': {
    credential: BOTH,
    tried: 'a JSON patch that makes the schema refuse, and so repeat, a value',
    refusedBy: 'policy own-report',
    seen: speaksFor,
    victim: NOTHING,
    open: OPEN,
  },
  'read by guessing': {
    credential: BOTH,
    tried: 'a JSON patch that tests a guess',
    refusedBy: 'policy own-report',
    seen: speaksFor,
    victim: NOTHING,
    open: OPEN,
  },
})
