/** What a tenant does who may edit his own VM and has no right on others, and what is seen of it. */
import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { GUESTINFO_CLAIM, type NodeReportStatus } from '../../agent/shared/node-report.ts'
import { claimVariable, drawClaim, drawNonce } from '../fixtures/claim.ts'
import { until } from '../fixtures/until.ts'
import type { VcsimVM } from '../servers/control.ts'
import type { Vcsim } from '../servers/vcsim.ts'
import type { Controller } from '../world/controller.ts'
import { followed } from '../world/deletion.ts'
import { metric } from '../world/meters.ts'
import { condition, eventsOf, isShutDown, type NodeObject } from '../world/objects.ts'
import { type AttackMember, type AttackStage, type Forger, type ForgerOptions, REPORTS } from './stage.ts'

/** A Node and the VM that passes for its own. */
export interface Pair {
  readonly node: Forger
  readonly copy: VcsimVM
}

export interface CopyOptions {
  /** Takes one from the stage unless given: of the other cluster than the original, and so of the other zone. */
  readonly vm?: VcsimVM
  /** Which has the copy; that of the stage unless given. */
  readonly vcsim?: Vcsim
  readonly macs?: boolean
}

/** Takes a VM of the stage that lies in another cluster. */
export function elsewhere({ vms }: Pick<AttackStage, 'vms'>, { cluster }: Pick<VcsimVM, 'cluster'>): VcsimVM {
  const at = vms.findLastIndex((vm) => vm.cluster !== cluster)
  const [vm] = at < 0 ? [] : vms.splice(at, 1)
  if (vm === undefined) throw new Error('no VM is left in another cluster')
  return vm
}

/** Gives a VM of the tenant's the MAC addresses and the BIOS UUID of another VM, as anybody may who can edit it. */
export async function copyOf(
  stage: AttackStage,
  original: VcsimVM,
  { vm = elsewhere(stage, original), vcsim = stage.vcsim, macs = true }: CopyOptions = {},
): Promise<VcsimVM> {
  const vnics = macs ? original.vnics : vm.vnics
  const own = ['-dc', vm.datacenter, '-vm', vm.name]
  if (macs) {
    for (const [i, { mac }] of original.vnics.entries()) {
      const network = ['-net', vm.vnics[i]?.network ?? '', '-net.address', mac]
      await vcsim.govc('vm.network.change', ...own, ...network, `ethernet-${i}`)
    }
  }
  await vcsim.govc('vm.change', ...own, '-uuid', original.uuid)
  return { ...vm, uuid: original.uuid, vnics }
}

/** The same machine after a boot: its agent knows another boot ID and draws another nonce. */
export function booted<M extends AttackMember>(machine: M): M & { readonly nonce: string } {
  return { ...machine, bootID: randomUUID(), nonce: drawNonce() }
}

/** Claims for a Node, as a VM's guest may have them in its guestinfo. */
export const claims = {
  own: ({ uid, bootID, nonce }: AttackMember) => text(drawClaim(uid, { bootID, nonce })),
  /** From what everybody may read: the Node's UID and its boot ID. */
  madeUp: ({ uid, bootID }: AttackMember) => `v1 ${uid} ${bootID}`,
  guessed: ({ uid, bootID }: AttackMember) => text(drawClaim(uid, { bootID })),
}

function text(claim: Parameters<typeof claimVariable>[1]): string {
  return claimVariable('', claim).value
}

/** Has a VM show this text for a claim; an empty one is none. */
export async function show(
  { vcsim }: { readonly vcsim: Vcsim },
  vm: Pick<VcsimVM, 'ref'>,
  value: string,
): Promise<void> {
  await vcsim.setGuestinfo({ vm: vm.ref, key: GUESTINFO_CLAIM, value })
}

/**
 * Returns what waits until the controller has acted on all that vCenter has pushed so far: the claim of a Node of its own goes
 * and comes back after that.
 */
export async function createMarker(
  stage: AttackStage,
  { vcsim = stage.vcsim, ...options }: Pick<ForgerOptions, 'vm' | 'vcsim'> = {},
): Promise<() => Promise<void>> {
  const name = 'marker'
  const node = await stage.forger(name, { vcsim, ...options })
  await node.proven()
  await followed({ vcsim }, node.vm)
  return async () => {
    for (const [claim, reason] of [
      ['', 'ProvenBefore'],
      [claims.own(node), 'Proven'],
    ] as const) {
      await show({ vcsim }, node.vm, claim)
      await stage.reports.until(
        `the claim of ${name} makes it ${reason}`,
        () => condition(stage.reports.last(name), 'IdentityVerified')?.reason === reason,
      )
    }
  }
}

/** What a Node has of the VM that it is. */
export interface Holdings {
  readonly uid: string
  readonly labels: Readonly<Record<string, string>>
  readonly providerID: string | undefined
  readonly shutDown: boolean
  readonly level: string | undefined
  readonly vm:
    | Pick<NonNullable<NodeReportStatus['vm']>, 'vCenter' | 'moref' | 'instanceUUID' | 'biosUUID'>
    | undefined
  readonly formerVMs: number
}

/** From the API server itself and not from a watch that may be behind. */
export async function holdings({ cluster }: Pick<AttackStage, 'cluster'>, name: string): Promise<Holdings> {
  const { body: node } = await cluster.request<NodeObject>('GET', `/api/v1/nodes/${name}`)
  const { body: report } = await cluster.request<{ status?: NodeReportStatus }>('GET', `${REPORTS}/${name}`)
  const { vm, identityLevel, formerVMs = [] } = report.status ?? {}
  return {
    uid: node.metadata.uid,
    labels: node.metadata.labels,
    providerID: node.spec.providerID,
    shutDown: isShutDown(node),
    level: identityLevel,
    vm: vm && {
      vCenter: vm.vCenter,
      moref: vm.moref,
      instanceUUID: vm.instanceUUID,
      biosUUID: vm.biosUUID,
    },
    formerVMs: formerVMs.length,
  }
}

/** Checks what an operator is told of a copy: a condition and a Warning on the Node, and a metric, which name both VMs. */
export async function checkTold(
  t: Test,
  { reports, events, running }: AttackStage & { readonly running: Pick<Controller, 'url'> },
  { node, copy }: Pair,
  { reason }: { readonly reason: string },
): Promise<void> {
  const { name } = node
  const moref = reports.last(name)?.status?.vm?.moref ?? node.vm.ref
  const names = (message: string) => message.includes(`(${copy.ref})`) && message.includes(`(${moref})`)
  await reports.until(`the report of ${name} names the copy`, () => {
    const unique = condition(reports.last(name), 'VMUnique')
    return unique?.status === 'False' && unique.reason === reason && names(unique.message)
  })
  await events.until(`a Warning on ${name} names the copy`, () =>
    eventsOf(events, name).some((event) => event.type === 'Warning' && event.reason === reason),
  )
  await counted(running, `main/${moref}`, `main/${copy.ref}`)
  t.pass(`${reason} is told of ${name}`)
}

/** Waits until the metric names a copy, each VM as `VCENTER/MOREF`. */
export async function counted(controller: Pick<Controller, 'url'>, vm: string, copy: string): Promise<void> {
  const series = `rollcall_vm_copies{vm="${vm}",copy="${copy}"}`
  await until(`the metric has ${series}`, async () => (await metric(controller, series)) === 1)
}

/** Whether nothing is told of copies of a Node's VM. */
export function isUnique({ reports }: Pick<AttackStage, 'reports'>, name: string): boolean {
  return condition(reports.last(name), 'VMUnique')?.status !== 'False'
}
