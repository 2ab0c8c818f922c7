import type { ConnectionState, PowerState, VirtualMachine } from '../types/virtual-machine.ts'

/**
 * What a VM's states say of its machine. Only a host that is connected knows: of every other the power state is the last
 * that was known, and the machine may run all the same.
 */
const MACHINE: Readonly<Record<ConnectionState, Readonly<Record<PowerState, 'runs' | 'off' | 'unknown'>>>> = {
  connected: { poweredOn: 'runs', poweredOff: 'off', suspended: 'off' },
  disconnected: { poweredOn: 'unknown', poweredOff: 'unknown', suspended: 'unknown' },
  inaccessible: { poweredOn: 'unknown', poweredOff: 'unknown', suspended: 'unknown' },
  invalid: { poweredOn: 'unknown', poweredOff: 'unknown', suspended: 'unknown' },
  orphaned: { poweredOn: 'unknown', poweredOff: 'unknown', suspended: 'unknown' },
}

/** Whether something runs there, nothing can, or nobody knows. */
export function machineState({
  connectionState,
  powerState,
}: Pick<VirtualMachine, 'connectionState' | 'powerState'>): 'runs' | 'off' | 'unknown' {
  return MACHINE[connectionState][powerState]
}
