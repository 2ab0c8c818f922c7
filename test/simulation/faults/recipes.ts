/**
 * Scenes in which one thing alone keeps a Node: what the preconditions are there for. Chance would bring each about too,
 * in many more steps.
 */
import { TAG_RECIPES } from './tags.ts'

export interface Ingredient {
  readonly kind: string
  /** When it begins, as a share of the time in which absence is proven; 0 where it is not named. */
  readonly at?: number
  /** When it ends; at the end of the scene where it is not named. */
  readonly until?: number
  /** Which machine: the one that the scene is about, or another of the same vCenter. */
  readonly who?: 'beside'
}

export interface Recipe {
  readonly faults: readonly Ingredient[]
  /** Whether it takes a vCenter with so few Nodes that the brake does not mind. */
  readonly small?: boolean
  /** Whether it takes a machine for which an agent speaks. */
  readonly reported?: boolean
}

/** Stands for one of those that make a machine silent. */
export const SILENT = 'silent'

const gone: Ingredient = { kind: 'vm-destroyed' }
const silent: Ingredient = { kind: SILENT }
/** It runs, unlisted, and says nothing by itself. */
const mute: readonly Ingredient[] = [
  { kind: 'kubelet-dead' },
  { kind: 'agent-dead' },
  { kind: 'vm-unregistered-running' },
]

const ANYWHERE: readonly (readonly Ingredient[])[] = [
  [silent, { kind: 'vm-inaccessible' }, { kind: 'replica-killed', at: 0.1 }],
  [silent, { kind: 'vm-registered-with-other-bios-uuid' }],
  [silent, { kind: 'vm-registered-with-other-instance-uuid' }],
  [silent, { kind: 'vm-registered-again' }, { kind: 'folder-denied', at: 0.05 }],
  [silent, { kind: 'properties-denied' }],
  [silent, { kind: 'properties-denied', until: 0.5 }, { kind: 'vm-inaccessible', at: 0.5 }],
  [silent, { kind: 'vm-registered-again' }, { kind: 'search-broken', at: 0.05 }],
  [silent, { kind: 'vm-registered-again' }, { kind: 'role-without-propagation', at: 0.05 }],
  [silent, { kind: 'vm-unregistered-running', until: 0.9 }],
  [...mute, { kind: 'reports-when-asked' }],
  [...mute, { kind: 'reports-when-asked' }, { kind: 'vcenter-slow' }],
  [...mute, { kind: 'reports-at-the-last-probe' }],
  [silent, { kind: 'vm-unregistered-running' }, { kind: 'listed-again-when-asked' }],
  [silent, { kind: 'vm-unregistered-running' }, { kind: 'listed-with-other-bios-uuid-when-asked' }],
  [silent, { kind: 'vm-unregistered-running' }, { kind: 'listed-with-other-instance-uuid-when-asked' }],
  [silent, { kind: 'vm-unregistered-off' }, { kind: 'listed-with-other-instance-uuid-when-asked' }],
  [...mute, { kind: 'renews-lease-when-asked' }],
  [...mute, { kind: 'renews-lease-when-asked' }, { kind: 'vcenter-slow' }],
  [gone, { kind: 'node-lifecycle-controller-away' }],
  [gone, { kind: 'replica-killed', at: 0.2 }],
  [gone, { kind: 'vcenter-errors', at: 0.3 }],
  [gone, { kind: 'logins-slow', at: 0.3 }],
  [gone, { kind: 'set-up-slow', at: 0.3 }],
  [{ kind: 'logins-lost' }, { kind: 'rolling-replacement', at: 0.1 }],
  [silent, { kind: 'vm-unregistered-running' }, { kind: 'polls-cut' }],
  [{ kind: 'kubelet-dead' }, { kind: 'vm-unregistered-running' }],
  [{ kind: 'kubelet-dead' }, { kind: 'vm-unregistered-running' }, { kind: 'vcenter-slow' }],
  [{ kind: 'kubelet-not-ready' }, { kind: 'agent-dead' }, { kind: 'vm-unregistered-running' }],
  [{ kind: 'agent-dead' }, { kind: 'vm-unregistered-running' }],
  [silent, { kind: 'vm-unregistered-running' }, { kind: 'back-when-deleting' }],
  [gone, { kind: 'vcenter-restarts', at: 0.55, until: 0.6 }],
  [gone, { kind: 'held', until: 1.7 }],
  [gone, { kind: 'annotated-wrongly', until: 1.6 }],
  [gone, { kind: 'held-when-deleting' }],
  [gone, { kind: 'volumes-attached' }],
  [{ kind: 'destroyed-with-volumes' }],
  [gone, { kind: 'volumes-attached' }, { kind: 'volumes-unreadable' }],
  [gone, { kind: 'deletions-refused' }],
  [gone, { kind: 'made-anew-when-deleting' }],
  [gone, { kind: 'suspended-when-deleting' }, { kind: 'api-server-slow' }],
  [gone, { kind: 'frozen-when-deleting' }, { kind: 'answers-lost', at: 0.5 }],
  [gone, { kind: 'cut-off-when-deleting' }],
  [gone, { kind: 'replica-killed', at: 0.9 }],
  [gone, { kind: 'sessions-die', at: 0.3, until: 0.6 }],
  [gone, { kind: 'vcenter-errors' }],
  [{ kind: 'login-refused' }, { kind: 'crash-loop' }],
  [gone, { kind: 'root-denied' }],
  [gone, { kind: 'other-roots-denied', until: 1.2 }],
  [silent, { kind: 'fault-tolerant' }],
  [
    { kind: 'fault-tolerant', until: 0.8 },
    { kind: 'vm-destroyed', at: 0.2 },
  ],
  [silent, { kind: 'fault-tolerant' }, { kind: 'vm-unregistered-running', at: 0.3 }],
  [gone, { kind: 'vm-destroyed', who: 'beside' }],
  [gone, { kind: 'vm-destroyed', who: 'beside' }, { kind: 'held', who: 'beside', until: 1.2 }],
  [{ kind: 'one-too-many-held' }],
  [{ kind: 'destroyed-unseen' }],
  [{ kind: 'destroyed-unseen' }, { kind: 'replica-killed', at: 0.5 }],
  [{ kind: 'vms-lost-in-hanging', until: 0.6 }],
  [{ kind: 'unreported-lost-in-hanging', until: 1.2 }],
  [{ kind: 'workers-replaced' }],
  [
    { kind: 'all-silent', until: 1.1 },
    { kind: 'old-backup-restored', until: 1.1 },
    { kind: 'workers-replaced' },
  ],
  [{ kind: 'rolling-replacement' }],
  [{ kind: 'host-tags-denied' }, { kind: 'rolling-replacement' }],
  [{ kind: 'tags-hidden' }, { kind: 'host-tags-denied' }],
  [{ kind: 'scaled-down' }],
  [{ kind: 'all-silent' }, { kind: 'old-backup-restored' }],
  [{ kind: 'all-silent' }, { kind: 'old-backup-restored' }, { kind: 'replica-killed', at: 0.5 }],
  [{ kind: 'all-silent' }, { kind: 'old-backup-restored' }, { kind: 'configuration-changes', at: 0.7 }],
  [gone, { kind: 'vm-destroyed', who: 'beside', at: 0.2 }, { kind: 'configuration-changes', at: 0.9 }],
  [gone, { kind: 'deletion-set-otherwise' }],
  [gone, { kind: 'deletion-set-otherwise' }, { kind: 'configuration-invalid', at: 0.7 }],
  [gone, { kind: 'vm-destroyed', who: 'beside' }, { kind: 'let-go', at: 0.5 }],
  [gone, { kind: 'vm-unregistered-off', who: 'beside', until: 0.8 }],
  [{ kind: 'vm-unregistered-for-good' }, { kind: 'vm-destroyed', who: 'beside', at: 0.1 }],
  [
    { kind: 'vm-unregistered-for-good' },
    { kind: 'vm-destroyed', who: 'beside' },
    { kind: 'replica-killed', at: 0.2 },
  ],
  [silent, { kind: 'older-backup-restored' }],
  [silent, { kind: 'older-backup-restored', at: 0.2 }],
  [silent, { kind: 'older-backup-restored' }, { kind: 'replica-killed', at: 0.3 }],
  [gone, { kind: 'old-backup-restored', until: 0.7 }, { kind: 'vm-destroyed', who: 'beside', at: 0.9 }],
  [gone, { kind: 'old-backup-restored', until: 0.6 }, { kind: 'vm-destroyed', who: 'beside', at: 0.7 }],
  [{ kind: 'recreated-under-same-name' }, { kind: 'node-cut-off', at: 0.8 }],
  [{ kind: 'recreated-under-same-name' }, { kind: 'powered-off', at: 0.7 }],
  [
    { kind: 'other-folders-denied' },
    { kind: 'recreated-under-same-name', at: 0.02 },
    { kind: 'node-cut-off', at: 0.6 },
  ],
  [
    { kind: 'other-folders-denied' },
    { kind: 'recreated-under-same-name', at: 0.02 },
    { kind: 'suspended', at: 0.5 },
  ],
  [silent, { kind: 'recreated-under-same-name', at: 0.1 }],
  [
    { kind: 'other-folders-denied' },
    { kind: 'recreated-under-same-name', at: 0.02 },
    { kind: 'successor-destroyed', at: 0.8 },
  ],
  [{ kind: 'two-at-one-address' }],
  [{ kind: 'two-at-one-address' }, { kind: 'replica-killed', at: 0.3 }],
  [{ kind: 'two-at-one-address' }, { kind: 'powered-off', who: 'beside', at: 0.3 }],
  [{ kind: 'replaced-at-its-address' }],
  [{ kind: 'replaced-at-its-address' }, { kind: 'replica-killed', at: 0.5 }],
  [silent, { kind: 'replaced-at-its-address', at: 0.3 }, { kind: 'held' }],
  [{ kind: 'report-contradicts' }, { kind: 'replaced-at-its-address', at: 0.2 }],
  [{ kind: 'recreated-under-same-name' }, { kind: 'successor-destroyed', at: 0.8 }],
  [{ kind: 'recreated-under-same-name' }, { kind: 'agent-dead' }, { kind: 'successor-destroyed', at: 0.9 }],
  [
    { kind: 'recreated-under-same-name' },
    { kind: 'successor-off', at: 0.7 },
    { kind: 'successor-inaccessible', at: 0.75 },
    { kind: 'replica-killed', at: 0.8 },
  ],
  [
    { kind: 'recreated-under-same-name' },
    { kind: 'successor-off', at: 0.7 },
    { kind: 'folder-denied', at: 0.8 },
  ],
  [
    { kind: 'report-contradicts' },
    { kind: 'vm-inaccessible', at: 0.2 },
    { kind: 'node-cut-off', at: 0.3 },
    { kind: 'replica-killed', at: 0.4 },
  ],
  [gone, { kind: 'report-deleted', at: 0.1 }],
  [silent, { kind: 'report-deleted', at: 0.2 }, { kind: 'vm-registered-again', at: 0.4 }],
  [silent, { kind: 'report-deleted', at: 0.2 }, { kind: 'vm-unregistered-off', at: 0.4 }],
  [{ kind: 'report-contradicts' }, { kind: 'vm-destroyed', at: 0.2 }],
  [{ kind: 'vm-becomes-template' }, { kind: 'vm-destroyed', at: 0.2 }],
  [{ kind: 'vm-becomes-template' }, { kind: 'replica-killed', at: 0.3 }],
  [
    { kind: 'vm-becomes-template' },
    { kind: 'recreated-under-same-name', at: 0.2 },
    { kind: 'successor-destroyed', at: 0.9 },
  ],
  [{ kind: 'powered-off' }, { kind: 'replica-suspended', at: 0.2, until: 0.8 }],
  [{ kind: 'powered-off' }, { kind: 'host-disconnected', at: 0.1 }],
]

/** Somebody makes his own VM pass for a Node's while something happens to that one. */
const TENANTS: readonly (readonly Ingredient[])[] = [
  ...['tenant-has-uuid', 'tenant-knows-what-is-public', 'tenant-reads', 'tenant-has-read'].flatMap((kind) => [
    [{ kind }, { kind: 'replica-killed', at: 0.3 }],
    [{ kind }, { kind: 'rebooted-with-late-claim', at: 0.1 }],
    [{ kind }, { kind: 'powered-off', at: 0.2, until: 0.8 }],
    [{ kind }, { kind: 'suspended', at: 0.2, until: 0.8 }],
    [{ kind }, { kind: 'vm-inaccessible', at: 0.2 }, { kind: 'replica-killed', at: 0.4 }],
    [{ kind }, { kind: 'host-disconnected', at: 0.2 }],
    [{ kind }, { kind: 'folder-denied', at: 0.2 }, { kind: 'replica-killed', at: 0.4 }],
    [{ kind }, { kind: 'properties-denied', at: 0.2 }],
    [{ kind }, { kind: 'vm-unregistered-running', at: 0.1, until: 0.9 }],
    [{ kind }, { kind: 'vm-registered-again', at: 0.2 }],
    [{ kind }, { kind: 'vcenter-down', at: 0.1, until: 0.7 }],
    [{ kind }, { kind: 'other-vcenter-answers', at: 0.1, until: 0.7 }],
    [{ kind }, { kind: 'vm-destroyed', at: 0.2 }],
    [{ kind }, { kind: 'vm-annotated', at: 0.1 }],
    [{ kind }, { kind: 'failed-over', at: 0.1, until: 0.8 }],
    [{ kind }, { kind: 'site-lost', at: 0.1, until: 0.8 }],
    [{ kind }, { kind: 'vm-moved-to-other-vcenter', at: 0.1 }],
    [{ kind }, { kind: 'vcenter-installed-anew', at: 0.1 }],
    [{ kind }, { kind: 'agent-restarted', at: 0.2 }, { kind: 'push-lost', at: 0.18 }],
    [{ kind }, { kind: 'rebooted', at: 0.2 }, { kind: 'push-lost', at: 0.18 }],
    [{ kind }, { kind: 'vm-moved-untold', at: 0.1 }],
    [{ kind }, { kind: 'claims-forbidden' }],
    [{ kind }, { kind: 'claims-forbidden' }, { kind: 'vm-moved-untold', at: 0.1 }],
    [{ kind }, { kind: 'claims-forbidden' }, { kind: 'vm-unregistered-running', at: 0.1, until: 0.9 }],
    [
      { kind },
      { kind: 'claims-forbidden' },
      { kind: 'vm-moved-to-other-vcenter', at: 0.1 },
      { kind: 'other-vcenters-down', at: 0.1 },
    ],
    // He is gone before the VM is asked for.
    [
      { kind, until: 0.3 },
      { kind: 'powered-off', at: 0.1 },
      { kind: 'vm-inaccessible', at: 0.2 },
      { kind: 'replica-killed', at: 0.35 },
    ],
    [
      { kind, until: 0.3 },
      { kind: 'vm-inaccessible', at: 0.1 },
      { kind: 'node-cut-off', at: 0.1 },
    ],
  ]),
  ...['tenant-awaits-machine', 'tenant-who-reads-awaits-machine'].flatMap((kind) => [
    [{ kind }],
    [{ kind }, { kind: 'replica-killed', at: 0.1 }],
    [{ kind }, { kind: 'push-lost' }],
  ]),
]

/** Of a vCenter there is a copy beside it, which says that it is the same one, and shows what it likes. */
const CLONES: readonly (readonly Ingredient[])[] = ['vcenter-cloned', 'vcenter-cloned-alive'].flatMap(
  (kind) => [
    [{ kind }],
    [{ kind }, gone],
    [{ kind }, silent],
    [{ kind }, { kind: 'replica-killed', at: 0.2 }],
    [{ kind }, { kind: 'powered-off', at: 0.1, until: 0.8 }],
    [{ kind }, { kind: 'rebooted-with-late-claim', at: 0.1 }],
    [{ kind }, silent, { kind: 'vm-unregistered-running', at: 0.1, until: 0.9 }],
    [{ kind }, silent, { kind: 'vm-inaccessible', at: 0.2 }, { kind: 'replica-killed', at: 0.4 }],
    [{ kind }, silent, { kind: 'vm-registered-again', at: 0.2 }],
    [{ kind }, { kind: 'vm-moved-to-other-vcenter', at: 0.2 }],
    [{ kind }, { kind: 'failed-over', at: 0.2 }],
    [{ kind }, { kind: 'site-lost', at: 0.2, until: 0.8 }],
    [{ kind }, { kind: 'vcenter-down', at: 0.2, until: 0.9 }],
    [{ kind }, { kind: 'vcenter-down', at: 0.2, until: 0.9 }, { kind: 'replica-killed', at: 0.3 }],
    [{ kind }, { kind: 'clone-away', at: 0.2, until: 0.8 }],
    [{ kind: 'address-squatted' }, { kind, at: 0.1 }],
    [{ kind: 'address-squatted' }, { kind, at: 0.1 }, { kind: 'clone-away', at: 0.2, until: 0.8 }],
    [{ kind }, { kind: 'recreated-under-same-name', at: 0.2 }],
  ],
)

/** A Node that cannot go though it was deleted, or that costs too much to write. */
const NODES: readonly (readonly Ingredient[])[] = [
  [gone, { kind: 'node-has-finalizer' }],
  [gone, { kind: 'node-has-finalizer' }, { kind: 'replica-killed', at: 1.1 }],
  [{ kind: 'node-deleted-with-finalizer' }],
  [silent, { kind: 'node-deleted-with-finalizer', at: 0.2 }],
  [{ kind: 'node-deleted-with-finalizer' }, { kind: 'vm-destroyed', at: 0.1 }],
  [{ kind: 'node-deleted-with-finalizer' }, { kind: 'recreated-under-same-name', at: 0.1 }],
  [{ kind: 'node-deleted-with-finalizer' }, { kind: 'replaced-at-its-address', at: 0.1 }],
  [
    { kind: 'node-deleted-with-finalizer' },
    { kind: 'replaced-at-its-address', at: 0.1 },
    { kind: 'vcenter-installed-anew', at: 0.2 },
  ],
  [
    { kind: 'node-deleted-with-finalizer' },
    { kind: 'replaced-at-its-address', at: 0.1 },
    { kind: 'replica-killed', at: 0.5 },
  ],
  [gone, { kind: 'vm-destroyed', who: 'beside' }, { kind: 'node-deleted-with-finalizer', at: 0.2 }],
  ...['node-huge', 'node-huge-and-denied', 'node-writes-slow'].flatMap((kind) => [
    [{ kind }, gone],
    [{ kind }, { kind: 'vm-destroyed', who: 'beside' } as const],
    [{ kind }, { kind: 'powered-off', at: 0.2, until: 0.8 }],
    [{ kind }, { kind: 'failed-over', at: 0.2, until: 0.8 }],
    [{ kind }, { kind: 'recreated-under-same-name', at: 0.2 }],
  ]),
]

/** A vCenter whose name is found late, or not at all. */
const NAMES: readonly (readonly Ingredient[])[] = [
  [{ kind: 'names-late' }],
  [gone, { kind: 'names-late', at: 0.2, until: 0.8 }],
  [gone, { kind: 'names-late' }, { kind: 'replica-killed', at: 0.3 }],
  [silent, { kind: 'vm-unregistered-running', until: 0.9 }, { kind: 'names-late', at: 0.1 }],
  [
    { kind: 'names-late', until: 0.9 },
    { kind: 'sessions-die', at: 0.1, until: 0.5 },
  ],
  [{ kind: 'names-late' }, { kind: 'powered-off', at: 0.2, until: 0.8 }],
]

/** One VM that is listed twice, or has another NIC than before. */
const ENTRIES: readonly (readonly Ingredient[])[] = [
  ...['dead-entry-beside', 'entry-replaced'].flatMap((kind) => [
    [{ kind }],
    [{ kind }, { kind: 'replica-killed', at: 0.2 }],
    [{ kind }, { kind: 'powered-off', at: 0.2, until: 0.7 }],
    [{ kind }, { kind: 'rebooted-with-late-claim', at: 0.1 }],
    [
      { kind, until: 0.3 },
      { kind: 'vm-destroyed', at: 0.1 },
    ],
    [{ kind, until: 0.5 }, silent, { kind: 'vm-registered-again', at: 0.2 }],
  ]),
  [{ kind: 'nic-replaced' }],
  [{ kind: 'nic-replaced' }, { kind: 'replica-killed', at: 0.02 }],
  [{ kind: 'nic-replaced' }, { kind: 'vcenter-slow' }],
  [{ kind: 'nic-replaced', at: 0.1 }, { kind: 'properties-denied' }],
  [{ kind: 'nic-replaced' }, { kind: 'vm-destroyed', at: 0.2 }],
  [{ kind: 'tenant-has-uuid' }, { kind: 'nic-replaced', at: 0.1 }],
]

/** One object of a shared vCenter that is not as the others, while all else has to go on. */
const SHARED: readonly (readonly Ingredient[])[] = [
  [{ kind: 'vm-faulty' }, { kind: 'rolling-replacement', at: 0.1 }],
  [{ kind: 'vm-faulty' }, { kind: 'replica-killed', at: 0.1 }, { kind: 'rolling-replacement', at: 0.2 }],
  [{ kind: 'vm-faulty', who: 'beside' }, gone],
  [{ kind: 'vm-faulty', who: 'beside', until: 0.8 }, gone, { kind: 'replica-killed', at: 0.2 }],
  [{ kind: 'vm-faulty', until: 0.8 }, silent],
  [{ kind: 'vm-faulty', until: 0.8 }, silent, { kind: 'vm-registered-again', at: 0.2 }],
  [{ kind: 'tag-denied' }, { kind: 'replica-killed', at: 0.1 }, { kind: 'rolling-replacement', at: 0.2 }],
  [{ kind: 'foreign-categories-denied' }, { kind: 'replica-killed', at: 0.1 }],
  [{ kind: 'address-changed' }],
  [{ kind: 'address-changed' }, { kind: 'replica-killed', at: 0.1 }],
  [
    { kind: 'agent-dead', until: 0.5 },
    { kind: 'address-changed', at: 0.1 },
  ],
  [{ kind: 'address-squatted' }],
  [{ kind: 'address-squatted' }, { kind: 'replica-killed', at: 0.3 }],
  [{ kind: 'address-squatted' }, { kind: 'two-at-one-address' }],
  ...['vm-moved', 'attribute-changed', 'attributes-hidden', 'label-by-rule-changed', 'host-untagged'].flatMap(
    (kind) => [[{ kind }], [{ kind }, { kind: 'replica-killed', at: 0.2 }]],
  ),
  [{ kind: 'attributes-hidden' }, { kind: 'attribute-changed', at: 0.2 }],
  // Until all was read twice.
  [{ kind: 'attributes-hidden', until: 5 }],
  [
    { kind: 'attributes-hidden', until: 5 },
    { kind: 'replica-killed', at: 0.2 },
  ],
  [{ kind: 'tags-hidden', until: 5 }],
  [{ kind: 'vm-moved' }, { kind: 'folder-denied', at: 0.01 }],
  [{ kind: 'vm-moved' }, { kind: 'vcenter-down', at: 0.01, until: 0.6 }],
  [{ kind: 'beta-label-otherwise' }],
  [{ kind: 'beta-label-otherwise' }, { kind: 'vm-moved', at: 0.2 }],
  [{ kind: 'provider-id-malformed' }],
  [{ kind: 'provider-id-malformed' }, { kind: 'replica-killed', at: 0.3 }],
  [{ kind: 'provider-id-malformed' }, gone],
]

/** Who asks for serving certificates while something happens to the Node. */
const CERTIFICATES: readonly (readonly Ingredient[])[] = [
  ...['asks-for-anothers', 'asks-for-nobodys', 'stranger-asks', 'asks-in-flood'].flatMap((kind) => [
    [{ kind }],
    [{ kind }, { kind: 'replica-killed', at: 0.3 }],
    [{ kind }, { kind: 'recreated-under-same-name', at: 0.1 }],
    [{ kind }, { kind: 'powered-off', at: 0.2, until: 0.7 }],
  ]),
  [{ kind: 'asks-for-anothers' }, { kind: 'replaced-at-its-address', at: 0.1 }],
  [{ kind: 'asks-for-anothers' }, { kind: 'two-at-one-address' }],
  [{ kind: 'asks-for-anothers' }, { kind: 'address-squatted' }],
  [{ kind: 'asks-for-nobodys' }, { kind: 'vm-moved-to-other-vcenter', at: 0.1 }],
  [{ kind: 'asks-in-flood' }, { kind: 'node-deleted-with-finalizer', at: 0.1 }],
  [{ kind: 'asks-in-flood' }, { kind: 'vcenter-down', at: 0.1, until: 0.7 }],
  ...['registers-anew-after-asking', 'stops-after-asking'].flatMap((kind) => [
    [{ kind }],
    [{ kind }, { kind: 'replica-killed', at: 0.01 }],
    [{ kind }, { kind: 'watch-late' }],
    [{ kind }, { kind: 'tenant-has-read' }],
  ]),
  [{ kind: 'requests-unlistable' }, { kind: 'rolling-replacement', at: 0.1 }],
  [{ kind: 'approvals-refused' }, { kind: 'rolling-replacement', at: 0.1 }],
]

/** What people do to machines that makes a Node another VM, each alone: it needs nobody. */
const MOVES: readonly (readonly Ingredient[])[] = [
  [{ kind: 'failed-over' }],
  [{ kind: 'failed-over' }, { kind: 'vm-destroyed', at: 0.7 }],
  [
    { kind: 'failed-over', until: 0.5 },
    { kind: 'rebooted-with-late-claim', at: 0.1 },
  ],
  [{ kind: 'site-lost' }],
  [
    { kind: 'site-lost', until: 0.5 },
    { kind: 'vm-destroyed', at: 0.6 },
  ],
  [{ kind: 'vm-moved-to-other-vcenter' }],
  [{ kind: 'vm-moved-to-other-vcenter' }, { kind: 'replica-killed', at: 0.4 }],
  [{ kind: 'vcenter-installed-anew' }],
  [
    { kind: 'agent-of-older-release', until: 0.9 },
    { kind: 'vcenter-installed-anew', at: 0.3 },
  ],
  [
    { kind: 'agent-of-older-release', until: 0.5 },
    { kind: 'rebooted', at: 0.2 },
  ],
  [
    { kind: 'powered-off', until: 0.5 },
    { kind: 'agent-restarted', at: 0.6 },
  ],
]

const SMALL: readonly (readonly Ingredient[])[] = [
  [silent, { kind: 'other-vcenter-answers' }],
  [silent, { kind: 'vcenter-restarts' }],
  [silent, { kind: 'old-backup-restored' }],
  [gone],
  [silent, { kind: 'vm-registered-again' }, { kind: 'search-broken', at: 0.05 }],
  [silent, { kind: 'vm-registered-again' }, { kind: 'role-without-propagation', at: 0.05 }],
]

/** What only few settings, or few moments, let come about. */
const RARE: readonly (readonly Ingredient[])[] = [
  [{ kind: 'tenant-comes-before-machine' }],
  [{ kind: 'tenant-reads' }, { kind: 'vm-moved-untold', at: 0.1 }],
  [{ kind: 'one-too-many-held-until-configured-anew' }],
  [
    { kind: 'powered-off', until: 1.6 },
    { kind: 'vcenter-down', at: 1.4, until: 2.8 },
  ],
  [
    { kind: 'node-cut-off' },
    { kind: 'vm-unregistered-for-good' },
    { kind: 'volumes-attached' },
    { kind: 'back-when-out-of-service' },
  ],
  [{ kind: 'unreported-silent', until: 4.5 }],
  [{ kind: 'taken-over-unseen' }],
  [{ kind: 'taken-over-unseen' }, { kind: 'replica-killed', at: 0.5 }],
  [silent, { kind: 'vm-unregistered-running' }, { kind: 'restored-at-the-last-probe' }],
  [gone, { kind: 'suspended-when-deleting' }],
  [
    silent,
    { kind: 'node-lifecycle-controller-away', at: 0.7, until: 3.5 },
    { kind: 'vm-destroyed', at: 0.7 },
    { kind: 'vm-destroyed', who: 'beside', at: 0.7 },
  ],
]

/** Of a vCenter that has one VM beside another provider's Node. */
const LONELY: readonly (readonly Ingredient[])[] = [
  [silent, { kind: 'vcenter-restarts', at: 0.3 }, { kind: 'vm-destroyed', at: 0.4 }],
  [silent, { kind: 'vcenter-restarts', at: 0.3, until: 0.31 }, { kind: 'vm-destroyed', at: 0.3 }],
]

/** Those for small vCenters as often as all others of some kind. */
const ALL: readonly Recipe[] = [
  ...[
    ...ANYWHERE,
    ...TENANTS,
    ...MOVES,
    ...CLONES,
    ...NODES,
    ...NAMES,
    ...ENTRIES,
    ...SHARED,
    ...CERTIFICATES,
    ...TAG_RECIPES,
  ].map((faults) => ({
    faults,
  })),
  ...RARE.flatMap((faults) => [{ faults }, { faults }, { faults }]),
  ...SMALL.flatMap((faults) => [
    { faults, small: true },
    { faults, small: true },
  ]),
]
const ALL_AND_LONELY: readonly Recipe[] = [
  ...ALL,
  ...LONELY.flatMap((faults) => Array.from({ length: 16 }, () => ({ faults, small: true, reported: true }))),
]

/** @param lonely whether there is a vCenter that has one VM beside another provider's Node: few worlds have such a one */
export function recipesFor(lonely: boolean): readonly Recipe[] {
  return lonely ? ALL_AND_LONELY : ALL
}
