/** Attacks on all Nodes at once, each of which needs a world of its own: `test/e2e/` has them. */
import { type AttackRow, NOTHING, type TriedBy, theme } from './row.ts'

type Given = Pick<AttackRow, 'credential' | 'tried' | 'seen'> & Partial<AttackRow> & TriedBy

function row({ file, test, ...given }: Given): AttackRow {
  return { refusedBy: 'nobody needs to', victim: NOTHING, ...given, triedBy: { file, test } }
}

const controller = 'controller'

export const everybody = theme('Holding up everybody', {
  labels: row({
    credential: 'the kubelets of 17 Nodes',
    tried: '20,000 labels each, at registration',
    seen: 'rollcall_nodes_in_slow_lane',
    victim: 'is served, and the leader keeps its Lease',
    file: 'test/e2e/huge-nodes.test.ts',
    test: 'Nodes of 20,000 labels others are served, and the Lease is kept',
  }),
  taints: row({
    credential: 'a kubelet',
    tried: '3,000 taints, at registration',
    seen: 'Proven',
    victim: 'is initialized, and keeps them',
    file: 'test/e2e/huge-nodes.test.ts',
    test: 'a Node that its kubelet registers with 3,000 taints is initialized, and keeps them',
  }),
  finalizers: row({
    credential: 'a kubelet',
    tried: 'finalizers on its Node, to keep its address',
    refusedBy: controller,
    seen: 'AddressOfAnotherNode',
    victim: 'waits until the other machine is proven gone',
    file: 'test/e2e/deletion-kept-by-finalizers.test.ts',
    test: 'a Node that a person deleted while its machine ran: its address is free once that is gone',
  }),
  'finalizers, brake': row({
    credential: 'a kubelet',
    tried: 'finalizers on its Node, to count for the brake',
    seen: 'VMGone',
    victim: 'is deleted, once its VM is proven gone',
    file: 'test/e2e/deletion-kept-by-finalizers.test.ts',
    test: 'those that hang hold no other deletion',
  }),
  zombies: row({
    credential: 'kubelets whose VMs are destroyed',
    tried: 'to call their Nodes Ready, so that the brake holds others',
    refusedBy: controller,
    seen: 'NodeReady',
    victim: 'held for six times lifecycle.absentFor, then deleted',
    file: 'test/e2e/deletion-and-signs-of-life.test.ts',
    test: 'once their kubelets alone have spoken for long, they are kept, and hold nobody',
  }),
  'zombies by Lease': row({
    credential: 'kubelets whose VMs are destroyed',
    tried: 'to renew their Leases alone',
    refusedBy: controller,
    seen: 'SignOfLife',
    victim: 'held for six times lifecycle.absentFor, then deleted',
    file: 'test/e2e/deletion-and-signs-of-life.test.ts',
    test: 'nor do they where they renew their Leases alone',
  }),
  clone: row({
    credential: 'whoever runs a configured clone of a configured vCenter',
    tried: 'a VM off in the clone alone',
    refusedBy: controller,
    seen: 'VCenterNotUnique',
    victim: 'a new Node waits while the real one does not answer',
    file: 'test/e2e/cloned-vcenter.test.ts',
    test: 'off in the clone alone: the Node gets no taint, whether the real one answers or not',
  }),
  'clone and copy': row({
    credential: 'a tenant',
    tried: 'a copy on which such a clone disagrees',
    refusedBy: controller,
    seen: 'VMPoweredOff',
    victim: 'tainted when both show it off',
    file: 'test/e2e/cloned-vcenter.test.ts',
    test: 'off in both: the taint comes, whatever is said of a copy that one of them has',
  }),
  logins: row({
    credential: "whoever may write a vCenter's password",
    tried: 'a wrong password under six spellings of the user',
    refusedBy: controller,
    seen: 'InvalidLogin',
    victim: 'account not locked',
    file: 'test/e2e/login-attempts.test.ts',
    test: 'a person looks for the right form of the user name, with the wrong password',
  }),
  'a Lease of a CPI': row({
    credential: 'whoever may create Leases in kube-system',
    tried: "a CPI's Lease, for 24 days",
    refusedBy: controller,
    seen: 'CPIRuns',
    victim: 'is left alone for five minutes',
    file: 'controller/cpi/interlock/interlock.cluster.test.ts',
    test: 'a Lease for 24 days has Nodes left alone for five minutes',
  }),
})
