import t from 'tap'
import { makeRoot, plant } from '../testing/root.ts'
import { findKubelet, readToolsConf } from './look-at-machine.ts'

const commandLines: readonly (readonly [string, readonly string[], ReturnType<typeof findKubelet>])[] = [
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
for (const [what, processes, expected] of commandLines)
  t.test(what, async (t) => {
    const root = makeRoot(t)
    plant(root, { 'proc/self/cmdline': 'kubelet\0', 'proc/99': null })
    for (const [index, line] of processes.entries()) plant(root, { [`proc/${index + 1}/cmdline`]: line })
    t.same(findKubelet(root), expected)
  })

t.equal(findKubelet('/nowhere'), undefined)

const none = { polls: true, excluded: [] }
const settings: readonly (readonly [string, string | null, ReturnType<typeof readToolsConf>])[] = [
  ['no file', null, undefined],
  ['nothing in it', '', none],
  ['all in comments', '[guestinfo]\n#poll-interval=0\n#exclude-nics=*\n', none],
  ['container interfaces alone', '[guestinfo]\nexclude-nics=veth*,docker*, cali*\n', none],
  [
    'a pattern that takes a real one',
    '[guestinfo]\nexclude-nics=veth*, e*0\n',
    { ...none, excluded: ['eth0'] },
  ],
  ['one character', '[guestinfo]\nexclude-nics=bond?\n', { ...none, excluded: ['bond0', 'bond1'] }],
  ['a dot is a dot', '[guestinfo]\nexclude-nics=eth.\n', none],
  ['an empty list', '[guestinfo]\nexclude-nics=\n', none],
  [
    'a section in two parts',
    '[guestinfo]\nprimary-nics=eth0\n[guestinfo]\npoll-interval=0\n',
    { ...none, polls: false },
  ],
  ['another section', '[vmbackup]\npoll-interval=0\n', none],
  ['an interval', '[guestinfo]\npoll-interval=30\n', none],
  ['no number', '[guestinfo]\npoll-interval\n', none],
  ['what is no section', 'guestinfo=poll-interval=0\n', none],
  ['a list by brackets', '[guestinfo]\nexclude-nics[]=eth0\n[__proto__]\npoll-interval=0\n', none],
  ['too long', '#'.repeat(300_000), undefined],
]
for (const [what, text, expected] of settings)
  t.test(what, async (t) => {
    const root = makeRoot(t)
    if (text !== null) plant(root, { 'etc/vmware-tools/tools.conf': text })
    t.same(readToolsConf(root, ['eth0', 'bond0', 'bond1']), expected)
  })
