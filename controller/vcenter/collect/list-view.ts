/** Keeps the list that vCenter watches equal to the VMs that are followed. */
import type { Timings } from '../timings.ts'
import { reference } from '../wire/envelope.ts'
import type { Reference } from '../wire/errors.ts'
import { type SoapClient, toReference } from '../wire/soap.ts'
import { childrenOf } from '../wire/xml.ts'

export interface Members {
  /** Adds and removes in one call. Returns the references that vCenter does not know; undefined where nothing changes. */
  set(wanted: ReadonlySet<string>, signal: AbortSignal): Promise<string[] | undefined>
  has(vm: string): boolean
  /** How many are on the list. */
  size(): number
}

export interface MembersOptions {
  readonly soap: SoapClient
  /** An empty one. */
  readonly listView: Reference
  readonly timings: Timings
}

export function createMembers({ soap, listView, timings }: MembersOptions): Members {
  const members = new Set<string>()
  return {
    async set(wanted, signal) {
      const add = [...wanted].filter((vm) => !members.has(vm))
      const remove = [...members].filter((vm) => !wanted.has(vm))
      if (add.length + remove.length === 0) return undefined
      const response = await soap.call({
        operation: 'ModifyListView',
        target: listView,
        parameters: [
          ...add.map((vm) => machine('add', vm)),
          ...remove.map((vm) => machine('remove', vm)),
        ].join(''),
        deadline: timings.readDeadline,
        signal,
      })
      for (const vm of add) members.add(vm)
      for (const vm of remove) members.delete(vm)
      return childrenOf(response, 'returnval').flatMap((each) => toReference(each)?.value ?? [])
    },
    has: (vm) => members.has(vm),
    size: () => members.size,
  }
}

function machine(name: string, value: string): string {
  return reference(name, { type: 'VirtualMachine', value })
}
