import { NOTHING, theme } from './row.ts'

const TENANT = 'a tenant'

/** With `identity.require: proven`, and Nodes without an agent exempt by a label. */
export const required = theme('When Nodes must be proven, and some need no agent', {
  'VM without a Node': {
    credential: 'kubelet',
    tried: 'facts of a VM with neither Node nor claim',
    refusedBy: 'controller',
    seen: 'LevelTooLow',
    victim: NOTHING,
  },
  'exempts itself': {
    credential: 'kubelet',
    tried: 'give its Node the label that exempts Nodes',
    refusedBy: 'NodeRestriction',
    seen: 'is not allowed to modify labels: example.com.node-restriction.kubernetes.io/no-agent',
    victim: NOTHING,
  },
  'only the copy is shown': {
    credential: TENANT,
    tried: 'facts and a made-up claim, before the VM of a new Node shows',
    refusedBy: 'controller',
    seen: 'LevelTooLow',
    victim: 'waits until its VM shows its claim',
  },
  'after a boot': {
    credential: TENANT,
    tried: 'facts and a made-up claim of a proven Node that boots, before its own shows',
    refusedBy: 'controller',
    seen: 'CopyFound',
    victim: NOTHING,
  },
  'a copy of an exempt machine': {
    credential: TENANT,
    tried: 'the UUID of an exempt machine that joins',
    refusedBy: 'controller',
    seen: 'AmbiguousUUID',
    victim: 'waits until the copy is gone',
  },
  'the other byte order': {
    credential: TENANT,
    tried: "an exempt machine's UUID in the other byte order",
    refusedBy: 'controller',
    seen: 'AmbiguousUUID',
    victim: 'waits until that VM is gone',
  },
  "exempt, with the victim's UUID": {
    credential: 'kubelet of an exempt Node',
    tried: "the victim's UUID as its systemUUID, and no report",
    refusedBy: 'controller',
    seen: 'ClaimedByAnotherNode',
    victim: NOTHING,
  },
})
