import t from 'tap'
import { makeRoot, plant } from '../testing/root.ts'
import { findKubelet } from './look-at-machine.ts'

const rows: readonly (readonly [string, readonly string[], ReturnType<typeof findKubelet>])[] = [
  [
    'a kubelet with the flag',
    ['/usr/bin/kubelet\0--cloud-provider=external\0--v=2\0'],
    { program: 'kubelet', external: true },
  ],
  ['in two words', ['kubelet\0--cloud-provider\0external\0'], { program: 'kubelet', external: true }],
  ['without', ['/usr/bin/kubelet\0--v=2\0'], { program: 'kubelet', external: false }],
  ['with another', ['kubelet\0--cloud-provider=vsphere\0'], { program: 'kubelet', external: false }],
  [
    'k3s',
    ['/usr/local/bin/k3s agent\0--kubelet-arg=cloud-provider=external\0'],
    { program: 'k3s', external: true },
  ],
  [
    'k3s, in two words',
    ['k3s\0server\0--kubelet-arg\0cloud-provider=external\0'],
    { program: 'k3s', external: true },
  ],
  [
    'a kubelet goes before the program that has started it',
    ['k3s\0server\0', '/usr/bin/kubelet\0--cloud-provider=external\0'],
    { program: 'kubelet', external: true },
  ],
  ['others that only name it', ['vi\0/etc/kubelet\0--cloud-provider=external\0', ''], undefined],
  ['none', [], undefined],
]
for (const [what, processes, expected] of rows)
  t.test(what, async (t) => {
    const root = makeRoot(t)
    plant(root, { 'proc/self/cmdline': 'kubelet\0', 'proc/99': null })
    for (const [index, line] of processes.entries()) plant(root, { [`proc/${index + 1}/cmdline`]: line })
    t.same(findKubelet(root), expected)
  })

t.equal(findKubelet('/nowhere'), undefined)
