/** Settings that are judged by: filled by `config/`, read by `decide/`. */

export interface TopologySettings {
  /** What becomes of a running Node's labels when its VM moves or is resized. */
  readonly onChange: 'report' | 'relabel' | 'ignore'
}

/** When a Node whose VM is gone is deleted, and what becomes of one whose VM is off. Times in milliseconds. */
export interface LifecycleSettings {
  readonly deletion: 'on' | 'dry-run' | 'off'
  /** What becomes of Nodes whose machine no vCenter has shown to this controller, when it cannot be found. */
  readonly unbound: 'report' | 'delete'
  /** How many proofs of absence in a row it takes... */
  readonly confirmations: number
  /** ... and how much time between the first and the last of them. */
  readonly absentFor: number
  /** How long this replica must have led. */
  readonly leaderAge: number
  /** Nodes of one vCenter that are deleted in a minute at most. */
  readonly deletionsPerMinute: number
  /** The brake closes where more than this share, 0 to 1, of one vCenter's Nodes is missed at once... */
  readonly maxAbsentShare: number
  /** ... but never for so few. */
  readonly maxAbsentMinimum: number
  /** How long a deletion waits for VolumeAttachments to go; undefined where it does not. */
  readonly waitForVolumes: number | undefined
  /** How long a VM must have been off before its Node is called out of service; undefined for never. */
  readonly outOfServiceAfter: number | undefined
  /** Whether that goes for control-plane Nodes too. */
  readonly outOfServiceControlPlane: boolean
}
