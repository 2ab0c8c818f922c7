import t from 'tap'
import { makeRoot, plant } from '../testing/root.ts'
import { readToolsConf } from './look-at-machine.ts'

const none = { polls: true, excluded: [] }
const rows: readonly (readonly [string, string | null, ReturnType<typeof readToolsConf>])[] = [
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
for (const [what, text, expected] of rows)
  t.test(what, async (t) => {
    const root = makeRoot(t)
    if (text !== null) plant(root, { 'etc/vmware-tools/tools.conf': text })
    t.same(readToolsConf(root, ['eth0', 'bond0', 'bond1']), expected)
  })
