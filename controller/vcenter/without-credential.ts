import { type NoCredential, serverKey, type VCenterConfig } from '../config/config.ts'
import { aborted } from '../lib/tasks.ts'
import type { VCenterFailure } from '../types/vcenter-failure.ts'
import type { RunningInventory } from './running-inventory.ts'
import { notConnected, unanswered } from './vm-probe/prober.ts'

/**
 * The inventory of a vCenter whose user and password are not known: nothing is sent. Once they are known, another one takes
 * its place.
 */
export function withoutCredential(
  { name: vCenter, server, port }: Pick<VCenterConfig, 'name' | 'server' | 'port'>,
  missing: NoCredential,
): RunningInventory {
  const failure: VCenterFailure | undefined =
    missing.state === 'failed' ? { vCenter, reason: 'NoCredential', message: missing.message } : undefined
  const nothing = () => undefined
  return {
    vCenter,
    instanceUUID: () => '',
    run: aborted,
    passwordChanged: nothing,
    follow: nothing,
    unfollow: nothing,
    recheck: nothing,
    lookup: () => (failure === undefined ? { state: 'pending' } : { state: 'unknown', failure }),
    probe: async () => ({
      vCenter,
      server: serverKey({ server, port }),
      vCenterInstanceUUID: undefined,
      session: 0,
      // The VM may be its own.
      ...unanswered(true, failure ?? notConnected(vCenter)),
    }),
    provable: nothing,
    provableEverywhere: nothing,
    failure: () => failure,
    connected: () => false,
    datacenters: nothing,
    certificateExpiry: nothing,
  }
}
