import type { ConnectionState, PowerState, VirtualMachine } from '../../../types/virtual-machine.ts'

/**
 * What a VM's states say about its machine. Only a connected host knows: from any other the power state is the last known
 * one, and the machine may run all the same.
 */
const MACHINE: Readonly<Record<ConnectionState, Readonly<Record<PowerState, 'runs' | 'off' | 'unknown'>>>> = {
  connected: { poweredOn: 'runs', poweredOff: 'off', suspended: 'off' },
  disconnected: { poweredOn: 'unknown', poweredOff: 'unknown', suspended: 'unknown' },
  inaccessible: { poweredOn: 'unknown', poweredOff: 'unknown', suspended: 'unknown' },
  invalid: { poweredOn: 'unknown', poweredOff: 'unknown', suspended: 'unknown' },
  orphaned: { poweredOn: 'unknown', poweredOff: 'unknown', suspended: 'unknown' },
}

/** Whether the machine runs, cannot run, or nobody knows. */
export function machineState({
  connectionState,
  powerState,
}: Pick<VirtualMachine, 'connectionState' | 'powerState'>): 'runs' | 'off' | 'unknown' {
  return MACHINE[connectionState][powerState]
}
