import type { NodeReportSpec } from '../../../agent/shared/node-report.ts'
import type { Machine } from './machine.ts'

/** What the agent of a machine reports. */
export function specOf({
  nodeUID = '',
  bootID,
  biosUUID,
  mac,
  address,
  nodeName,
  forged,
}: Machine): NodeReportSpec {
  return {
    nodeUID,
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
    claim: { written: true, reason: 'Written', message: 'the claim stands in guestinfo' },
  }
}
