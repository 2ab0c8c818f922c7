import type { ApiClientOptions } from './api/client.ts'
import type { CredentialSource } from './api/credential.ts'
import { type AddressTable, readAddressTable } from './facts/addresses.ts'
import { type CloudInit, parseMetadata } from './facts/cloud-init.ts'
import { readDMI } from './facts/dmi.ts'
import type { Unreadable } from './facts/files.ts'
import { type Guestinfo, readToolsVersion } from './facts/guestinfo.ts'
import { readInterfaces } from './facts/interfaces.ts'
import { readBootID, readDefaultRoutes, readHostname } from './facts/kernel.ts'
import type { MachineFacts } from './report.ts'
import { GUESTINFO_METADATA, GUESTINFO_METADATA_ENCODING } from './shared/node-report.ts'
import { ok, type Result } from './shared/result.ts'

/** Facts from the kernel, read at each look: takes a millisecond and no process. */
export type LocalFacts = Pick<
  MachineFacts,
  'bootID' | 'hostname' | 'machine' | 'interfaces' | 'addresses' | 'unplaced' | 'routes'
>

/** Facts from the hypervisor, read at start and at each refresh: each takes a process. */
export type GuestFacts = Pick<MachineFacts, 'guestinfo' | 'cloudInit' | 'toolsVersion'>

/** What a report is made with. */
export interface ReportParts extends Pick<MachineFacts, 'agentVersion' | 'refresh'> {
  readonly credential: CredentialSource
  readonly client: ApiClientOptions
  readonly guestinfo: Guestinfo
  readonly readLocal: () => LocalFacts
  readonly readGuest: () => Promise<GuestFacts>
}

/** @param system `os.networkInterfaces` */
export function readLocalFacts(root: string, system: () => AddressTable): LocalFacts {
  const addresses = readAddressTable(root, system)
  const routes = readDefaultRoutes(root)
  const { interfaces, unplaced } = readInterfaces(
    root,
    addresses.ok ? addresses.value : {},
    routes.interfaces,
  )
  return {
    bootID: readBootID(root),
    hostname: readHostname(root),
    machine: readDMI(root),
    interfaces,
    addresses,
    unplaced,
    routes: routes.read,
  }
}

/** Never rejects: a failed call is returned as a fact. */
export async function readGuestFacts(
  root: string,
  guestinfo: Guestinfo,
  signal: AbortSignal,
): Promise<GuestFacts> {
  const [metadata, toolsVersion] = await Promise.all([
    guestinfo.get(GUESTINFO_METADATA),
    readToolsVersion(root, signal),
  ])
  return { guestinfo: metadata, cloudInit: await readCloudInit(guestinfo, metadata), toolsVersion }
}

async function readCloudInit(
  guestinfo: Guestinfo,
  metadata: Result<string | undefined, Unreadable>,
): Promise<Result<CloudInit | undefined, Unreadable>> {
  // Unreadable guestinfo is reported once, as the fact "guestinfo".
  if (!metadata.ok || metadata.value === undefined) return ok(undefined)
  const encoding = await guestinfo.get(GUESTINFO_METADATA_ENCODING)
  return encoding.ok ? parseMetadata(metadata.value, encoding.value) : encoding
}
