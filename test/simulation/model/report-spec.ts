import {
  type Claim,
  claimDigest,
  formatClaim,
  type NodeReportSpec,
} from '../../../agent/shared/node-report.ts'
import type { Machine } from './machine.ts'

type Claimant = Pick<Machine, 'nodeUID' | 'bootID' | 'nonce' | 'claims'>

/** What a report says that contradicts its machine. */
export const FORGED_MAC = '00:50:56:ff:ff:ff'

/** The text that the agent writes into guestinfo; undefined where it may not. */
export function claimOf(machine: Claimant): string | undefined {
  return machine.claims === 'nothing' ? undefined : formatClaim(written(machine))
}

function written({ nodeUID = '', bootID, nonce, claims }: Claimant): Claim {
  return { nodeUID, bootID, ...(claims === 'with-nonce' ? { nonce } : {}) }
}

/** What the agent of a machine reports. */
export function specOf(machine: Machine): NodeReportSpec {
  const { nodeUID = '', bootID, biosUUID, mac, address, squats, nodeName, forged, claims } = machine
  const said = squats ?? address
  return {
    nodeUID,
    bootID,
    agentVersion: '0.1.0',
    machine: { vendor: 'VMware, Inc.', product: 'VMware20,1', serialUUID: biosUUID, productUUID: biosUUID },
    hostname: nodeName,
    interfaces: [
      {
        name: 'ens192',
        mac: forged ? FORGED_MAC : mac,
        defaultRoute: true,
        addresses: said === undefined ? [] : [{ address: said, prefixLength: 24 }],
      },
    ],
    tools: { guestinfoReadable: true, guestinfoWritable: claims !== 'nothing' },
    claim:
      claims === 'nothing'
        ? { written: false, reason: 'ReadOnly', message: 'the host forbids it' }
        : {
            written: true,
            reason: 'Written',
            message: 'the claim is in guestinfo',
            ...(claims === 'with-nonce' ? { digest: claimDigest(written(machine)) } : {}),
          },
  }
}
