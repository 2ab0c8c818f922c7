import { NOTHING, theme } from './row.ts'

/** With `identity.require: proven`, and Nodes without an agent exempt by a label. */
export const required = theme('When Nodes must be proven, and some need no agent', {
  'VM without a Node': {
    credential: "worker-1's kubelet",
    tried: 'UUID and MACs of a VM that has neither Node nor claim',
    refusedBy: 'controller',
    seen: 'LevelTooLow',
    victim: NOTHING,
  },
  'exempts itself': {
    credential: "worker-1's kubelet",
    tried: 'give its Node the label that exempts Nodes, one under node-restriction.kubernetes.io',
    refusedBy: 'NodeRestriction',
    seen: 'is not allowed to modify labels: example.com.node-restriction.kubernetes.io/no-agent',
    victim: NOTHING,
  },
  "exempt, with the victim's UUID": {
    credential: 'kubelet of an exempt Node',
    tried: "the victim's UUID as its systemUUID, and no report",
    refusedBy: 'controller',
    seen: 'ClaimedByAnotherNode',
    victim: NOTHING,
  },
})
