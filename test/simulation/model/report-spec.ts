import type { Claim, NodeReportSpec } from '../../../agent/shared/node-report.ts'
import { writtenClaim } from '../../fixtures/claim.ts'
import type { Machine } from './machine.ts'

/** What the agent of a machine reports. */
export function specOf(machine: Machine): NodeReportSpec {
  const { bootID, biosUUID, mac, address, nodeName, forged } = machine
  const claim = claimOf(machine)
  return {
    nodeUID: claim.nodeUID,
    bootID,
    agentVersion: '0.1.0',
    machine: { vendor: 'VMware, Inc.', product: 'VMware20,1', serialUUID: biosUUID, productUUID: biosUUID },
    hostname: nodeName,
    interfaces: [
      {
        name: 'ens192',
        mac: forged ? '00:50:56:ff:ff:ff' : mac,
        defaultRoute: true,
        addresses: [{ address, prefixLength: 24 }],
      },
    ],
    tools: { guestinfoReadable: true, guestinfoWritable: true },
    claim: writtenClaim(claim),
  }
}

/** The claim that its agent writes; of a boot it is always the same, and nobody else can tell what it is. */
export function claimOf({ nodeUID = '', bootID, random }: Machine): Claim {
  const nonce = random.derive(`nonce of ${bootID}`).uuid().replaceAll('-', '')
  return { nodeUID, bootID, nonce }
}
