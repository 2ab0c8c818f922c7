import { bodies } from './bodies.ts'
import { certificates } from './certificates.ts'
import { claims, digests } from './claims.ts'
import { absentees, copies } from './copies.ts'
import { credentials, minting } from './credentials.ts'
import { everybody } from './elsewhere.ts'
import { failovers } from './failovers.ts'
import { joining } from './joining.ts'
import { deletion, lifecycle } from './lifecycle.ts'
import { newcomers } from './newcomers.ts'
import { otherMachines } from './other-machines.ts'
import { otherReports } from './other-reports.ts'
import { ownNode } from './own-node.ts'
import { required } from './required.ts'
import type { Theme } from './row.ts'
import { sites } from './sites.ts'
import { standIns } from './stand-ins.ts'
import { races, replays } from './timing.ts'
import { words } from './words.ts'

/** All attacks, in the order in which docs/attacks.md has them. */
export const themes: Readonly<Record<string, Theme>> = {
  otherReports,
  credentials,
  minting,
  joining,
  otherMachines,
  replays,
  races,
  claims,
  digests,
  copies,
  absentees,
  failovers,
  newcomers,
  sites,
  standIns,
  required,
  ownNode,
  lifecycle,
  deletion,
  certificates,
  bodies,
  words,
  everybody,
}

const test = (file: string) => `[${file}](../manifests/${file}.test.ts)`

/** What else is refused, by theme: a policy or a rule of the schema is tried once, here or in a test of manifests/. */
export const rest: Readonly<Record<string, string>> = {
  otherReports: `Nor may it write other owners, finalizers, labels and annotations of its own report: ${test('own-report')}.`,
  credentials: `Nor may an administrator, or whoever has only a node's group: ${test('own-report')}.`,
  ownNode: `Each of these labels, in each way to write or remove it: ${test('restore-labels')}. Before Kubernetes 1.36; a provider ID before initialization; the annotation once a person has set it: ${test('verified-labels')}. The label of its identity level: ${test('identity-label')}.`,
  lifecycle: `A sign of life that is no time, and other labels and annotations of its own report: ${test('own-report')}.`,
  deletion: `Nor may it delete a Node that is on hold, of another provider, or without UID and version as preconditions (${test('delete-node')}); nor change holds, owners, others' taints, labels and managedFields, nor put a ready Node out of service (${test('update-node')}).`,
  bodies: `Each field too long, with too many items or control characters: ${test('crd')}.`,
}
