/** Fixed scenes by which mutations are noticed soonest: each in a second, where seeds take minutes. */

/** By its file in `scenes/`, without the ending, and by its name: the names of the mutations that it notices. */
export const NOTICED_IN: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  brake: {
    'half of the VMs vanish': [
      'precondition BrakeReleased',
      'brake: it stays engaged for those for which it engaged',
      'brake: what vanished at once counts together',
      'brake: what counts is not Ready',
    ],
    'an autoscaler removes 60 % of the cluster, and says so by its taint': [
      'brake: who is held by a person does not count',
    ],
    'as many as may go at once, and one more soon after them': ['brake: past deletions alone leave no latch'],
    'it releases itself when few are missing for twice absentFor, and what was deleted is remembered': [
      'precondition ConfirmedJustNow',
      'precondition RateAllows',
      'brake: it releases itself',
      'probe tracker: deletions are counted',
      'probe tracker: deletions are remembered when the configuration changes',
    ],
    'vCenter shows some vanish, and is away while others do': [
      'brake: what vanished while vCenter was away counts with what vanished before',
    ],
    'one that deletes nothing (off) takes the latch away, and engages none': [
      'brake: who deletes nothing leaves no latch',
      'configuration: who works is told of a change',
    ],
  },
  certificates: {
    'a request that is not right waits, whatever is wrong': [
      'certificates: it is for a server alone',
      'certificates: its common name is whoever asks',
      'certificates: its organization is that of kubelets alone',
      "certificates: a name is the Node's",
      "certificates: an address is the Node's",
      'certificates: what is denied is of another Node',
    ],
    'whoever is no kubelet gets nothing': [
      'certificates: who asks is in the groups of kubelets alone',
      'certificates: who asks is not impersonated',
      'certificates: who asks has shown a client certificate',
    ],
    'a Node registers anew between request and approval': ['certificates: it is younger than the Node'],
    'a VM is off, and runs again': ['certificates: its VM is found and runs'],
    'a Node that is not proven': ['certificates: the Node has the level that is required'],
    'names and addresses that are in no certificate, though they are those of a Node': [
      'certificates: a name of the API server or of a Service is in none',
      'certificates: an address that is excluded is in none',
    ],
    'an address outside of the networks': ['certificates: an address is in the networks of Nodes'],
    'a flood of right requests': ['certificates: a Node gets few'],
    'a flood of right requests goes on under another configuration': [
      'certificates: a Node gets no more under another configuration',
    ],
    'of several requests that wait the newest counts': [
      'certificates: of several requests of a Node the newest counts',
    ],
  },
  destroyed: {
    'its deletion is not wanted': [
      'precondition DeletionOn',
      'precondition NotHeld',
      'precondition NotDryRun',
    ],
    'a leader that takes over in the middle begins anew; one that is young waits': [
      'precondition Confirmed',
      'precondition LeaderSettled',
    ],
  },
  doubt: {
    'the password is refused': ['logins: a refused credential rests'],
    'privileges on one folder are lost, and the VM in it is gone': ['proof PrivilegesProven'],
    'a storage outage, in which the controller restarts': ['proof ReferenceNotFound'],
    'a vCenter has loaded no VM yet, and the only Node that runs there has left an entry in another one': [
      'machines: an entry that one has left is not where it runs',
    ],
  },
  entries: {
    'a tenant who reads a new VM copies its claim in another vCenter, which pushes it first': [
      'identity: no copied claim decides before the other VMs are read again',
    ],
    'a NIC is replaced, and its agent reports that before vCenter says so': [
      'identity: a VM is read again before its vNICs contradict a report',
    ],
    'a NIC is replaced while the VM moves to another vCenter': [
      'inventory: what is never pushed is read again where the configuration has changed',
    ],
    'a NIC is replaced, its VM is unregistered, and a clone of its vCenter still shows it': [
      'clones: what one shows of a VM that the other has lost is not believed',
    ],
    'its entry is orphaned, and the VM runs by another one': [
      'identity: a Node whose entry is dead moves to the one that lives',
    ],
    'a new Node, whose VM has an entry that is orphaned besides': [
      'identity: a dead entry is no VM beside a living one',
    ],
    'a new Node, whose VM has an entry that is disconnected besides': [
      'identity: an entry whose host is away is no VM beside one that runs',
    ],
  },
  'installed-anew': {
    'each Node is the VM that shows its claim, or has its instance UUID where its agent writes none': [
      'identity: where no claim decides, others are asked for, though no vCenter has had the VM',
    ],
    'another vCenter answers: what the one before has shown says nothing of it': [
      'inventory: what another vCenter has shown is not taken for what this one has',
    ],
    'it shows nothing for want of rights, while a Node runs that was its own: no vCenter is believed to be empty':
      ['machines: a Node whose vCenter is no longer there may be the only one of another'],
    'a Node runs that nobody registers there: no Node goes while another vCenter is empty, until that one is let go':
      ['machines: a Node that somebody removes says nothing of an empty vCenter'],
  },
  kubelets: {
    'a running Node has another zone by its beta name alone': [
      'labels: those of a running Node stay, whatever its beta names say',
      'labels: none is written beside its beta name with another value',
      'labels: one that is not written because of its beta name is told of',
    ],
    'a kubelet gives a provider ID that names no VM': [
      'provider ID: one that names no VM lets nothing be initialized',
    ],
  },
  living: {
    'those that live are kept, as long as they live': [
      'evidence: a sign of life begins the count anew',
      'evidence: a heartbeat begins the count anew',
      'precondition KubeletSilent, nor the one before',
      'precondition NodeNotReady',
    ],
    'a small cluster: one VM is unregistered, another destroyed a moment later': [
      'brake: who lives though its VM is gone does not count',
    ],
    "vCenter is restored from last month's backup": [
      'brake: a vCenter that is wrong about many is not believed about any',
      'identity: a binding moves: RegisteredAgain',
    ],
  },
  'one-bad-object': {
    'the report by which a new leader would prove the policy is slow to write': [
      'one object: a report that is slow to write keeps no other from proving the policy',
    ],
    'a call about one VM fails: read': [
      'one object: a call that fails for it is made for the others',
      'one object: where it makes a read of all fail, each is read by itself',
    ],
    'a call about one VM fails: poll': [
      'one object: where each poll fails that tells of it, the others are polled for',
    ],
    'a call about one VM fails: search': ['one object: a search that fails fails for its UUID alone'],
    'a call about one VM fails: session': [
      'one object: NotAuthenticated about it ends no session that lives',
    ],
    'reads of one VM are not answered for an hour': [
      'one object: a read that it keeps from being answered is made for the others',
    ],
    'categories of somebody else may not be read': ['tags: a category that nobody needs may be unreadable'],
    'the tags of a nearer object may not be read: host': [
      'topology: a farther tag does not count where a nearer one may be unread',
    ],
    'the tags of a nearer object may not be read: tag': [
      'tags: one whose name may not be read may be the nearest',
    ],
  },
  labels: {
    'the right to read tags is lost': [
      'labels by rule: who has lost the right to read tags has not seen that there is none',
      'tags: a category that may not be read any more is not taken for one without a tag on any object',
    ],
    'a category loses its tags': ['tags: a category of which no tag is attached has its tags listed again'],
    'the right to read tags is lost, and a machine joins on a host that had none before': [
      'tags: those that are new do not stand beside older ones that are not shown any more',
    ],
    'the tags of all hosts may not be read': ['labels by rule: a tag that could not be read is not absent'],
    'a tag is detached, and attached again': [
      'labels by rule: an absence counts only after all was read twice',
    ],
    'a VM moves, and all that is known of it is another: one write': [
      'labels by rule: one write follows a move',
      'labels by rule: a label for the initialization stays',
      'labels by rule: a value with an entry in the map is that',
      'labels by rule: what the map makes of something else is ambiguous',
    ],
    'a custom attribute is changed, and removed': ['labels by rule: what is no label value is not written'],
    'the names of custom attributes may not be read': [
      'labels by rule: an attribute that could not be read is not absent',
      'labels by rule: an attribute whose names may not be read is not absent',
    ],
    'the values of custom attributes may not be read': [
      'labels by rule: an attribute whose values may not be read is not absent',
    ],
    'the definitions of custom attributes are removed': [
      'labels by rule: an attribute that is not defined is not absent',
    ],
    'what stands above a VM may not be read': [
      'labels by rule: a place that could not be read is not absent',
    ],
    'a person writes a label': ['labels by rule: what others wrote stays'],
  },
  possible: {
    'a VM that is destroyed keeps its Node until the account may read the root of every vCenter': [
      'privileges: the root folder is asked for',
      'privileges: the root folder of every vCenter counts',
      'privileges: that an absence could not be proven is taken back',
      'canary: none is demanded of a vCenter in which none was ever seen',
    ],
  },
  rebuilt: {
    'a new machine that is silent keeps the Node, and when it goes as well, the Node goes': [
      'machines: the VM that has taken the Node over',
    ],
    'a new machine that no vCenter has ever shown keeps it, with lifecycle.unbound: delete: it may run elsewhere':
      [
        'machines: what report and kubelet name',
        'machines: one that was never seen keeps a Node that was verified',
      ],
    'one that has become a template': ['machines: a template is none'],
    'one whose report came from elsewhere': ['machines: a binding whose level has ended'],
  },
  'slow-vcenter': {
    'a login that takes minutes': ['logins: one that takes minutes is waited for'],
    'calls that set up a session take most of a minute': ['set-up: a call that is made once is waited for'],
    'the answers to REST logins are lost': [
      'REST: a login whose answer is lost is not tried again and again',
    ],
    'the answers to all logins are lost': ['logins: those without an answer are few'],
    'no name server answers any more': ['names: the last good address is used where no name server answers'],
    'two VMs are destroyed in their first seconds, one a while after the other': [
      'watch: a new VM that was destroyed before it was watched is missed soon',
    ],
    'polls that a proxy ends after 30 s': ['polls: after one that was cut off the next goes on'],
    'a VM goes off as soon as its Node is initialized': [
      'watch: a VM is watched as soon as a Node points to it',
    ],
  },
  'static-address': {
    'two new machines have one address': ['addresses: what a Node is given is reserved until it is written'],
    'somebody has said that it is his, and vCenter shows him elsewhere': [
      'addresses: vCenter decides for whom it shows there',
    ],
    'who came first is woken by the proof': ['addresses: who waits for one is woken when its holder goes'],
    'who has waited is in the zone to which its VM has moved meanwhile': [
      'inventory: a VM is on the host that was pushed',
    ],
    'whose VM is proven gone: the new Node is initialized, though the old one stays': [
      'addresses: a machine that is proven gone holds none',
    ],
    'a finalizer keeps the Node of one that is gone, and its vCenter was installed anew': [
      'departing: a vCenter that was taken out keeps nothing',
    ],
  },
  tags: {
    'two zone tags on one host: the Node keeps its own': [
      'tags: of several on one host the one that the Node has counts',
      'tags: it is told that there are several',
    ],
    'a zone tag is renamed: the Node follows in five minutes': ['tags: names are read again'],
    'the zone category is renamed: the Node keeps what stands': [
      'tags: names of categories are read again',
      'tags: what stands stays where they say nothing',
    ],
    'names of zone tags that lose letters as a label': ['tags: no letter is lost'],
    'names of zone tags that one label would stand for': ['tags: two never give one label'],
    'a zone tag that may give the label of another may not be read': [
      'tags: one that may not be read may give the same label',
    ],
    'categories of somebody else are listed and gone': [
      'tags: a category that is listed and gone hides no other',
    ],
    'a zone tag is listed and gone': ['tags: one that is listed and gone hides no other'],
    'the zone category is gone when its tags are read': [
      'tags: a category that is gone when its tags are read hides no other',
    ],
  },
  unbound: {
    'by default it is said how to let them go': [
      'precondition SeenOrWanted',
      'machines: one that was never seen keeps a Node as lifecycle.unbound says',
      'machines: of one that is silent and was never reported it is said that it stays',
      'machines: a provider ID in either byte order',
    ],
    'with lifecycle.unbound: delete they go, by the UUID of their provider ID': [
      'machines: a machine that was never seen takes longer',
    ],
    'its VM was off before any leader saw its Node': [
      'shutdown: a Node whose VM was off before it was first seen is tainted once it is not Ready',
    ],
  },
  volumes: {
    'a Node with volumes is called out of service first, and held until they are detached, or for so long': [
      'precondition VolumesDetached',
      'volumes: a Node is called out of service before it is deleted',
    ],
    'a machine that goes on as another VM is not called out of service while that runs': [
      'out of service: a VM that is off may run as another',
    ],
  },
}
