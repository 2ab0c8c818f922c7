import { execFile } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { serverBinary } from './build.ts'
import {
  createControlClient,
  type GuestData,
  type TagAttachment,
  type VcsimFault,
  type VcsimVM,
  type VMState,
} from './control.ts'
import { startServer } from './processes.ts'
import { createRenewals, type VcsimRenewals } from './vcsim-renewals.ts'
import { createScenes, type VcsimScenes } from './vcsim-scenes.ts'

export interface VcsimOptions {
  user?: string
  password?: string
  /** Datacenters, clusters in each of them, hosts in each cluster. */
  dcs?: number
  clusters?: number
  hosts?: number
  /** Virtual machines in all, spread over clusters and hosts in turn, powered on. */
  vms?: number
  cpus?: number
  memoryMB?: number
  /** One, unless given; each takes about a kilobyte of what vCenter tells about a machine. */
  disks?: number
  guestId?: string
  /** Another seed makes other UUIDs and MACs: for a second vCenter beside the first. References stay the same. */
  seed?: string
  /** What it says of itself, "8.0.3.0" for one; else the simulator's own, 6.5. */
  apiVersion?: string
  /** 0, the default, takes a free one. */
  port?: number
}

export interface Traffic {
  readonly wire: number
  readonly inflated: number
}

/** A vCenter simulator of its own for one test. */
/** As the simulator tells them. */
interface Sessions {
  readonly soap: number
  readonly rest: number
  readonly userAgents: readonly string[]
  readonly restUserAgents: readonly string[]
}

export interface Vcsim extends VcsimScenes, VcsimRenewals, AsyncDisposable {
  /** Without a path: "https://127.0.0.1:port". */
  url: string
  host: string
  port: number
  username: string
  password: string
  /** The server's certificate, which serves as its CA. */
  certificateFile: string
  /** SHA-1 and SHA-256 of the certificate, upper-case hexadecimal with colons. */
  thumbprint: string
  thumbprint256: string
  controlUrl: string
  dir: string
  vms(): Promise<VcsimVM[]>
  setGuest(...guests: GuestData[]): Promise<void>
  /** Sets an extraConfig key as the guest does; an empty value removes it. */
  setGuestinfo(...variables: { vm: string; key: string; value: string }[]): Promise<void>
  getGuestinfo(vm: string, key: string): Promise<string | undefined>
  setState(...states: VMState[]): Promise<void>
  /** Creates categories and tags as needed, and attaches; counts as no call. */
  tag(...attachments: TagAttachment[]): Promise<void>
  calls(): Promise<{ total: number; operations: Record<string, number> }>
  /** Bytes of the answers' bodies by operation, of those that ended: as sent, and before they were compressed. */
  bytes(): Promise<Record<string, Traffic>>
  /** Counts calls and bytes from here on. */
  resetCalls(): Promise<void>
  /** How many sessions live. */
  sessions(): Promise<{ soap: number; rest: number }>
  /** What vCenter's list of sessions says of their clients: the User-Agent of each SOAP login. */
  userAgents(): Promise<readonly string[]>
  /** The same for the sessions of both kinds. */
  clients(): Promise<{ soap: readonly string[]; rest: readonly string[] }>
  /** The operation IDs of the latest thousand SOAP calls; an empty one for a call without. */
  operationIDs(): Promise<readonly string[]>
  /** Ends all sessions behind their clients' backs, as a restart of vCenter does. */
  endSessions(): Promise<void>
  /**
   * Ends all sessions with the next read that starts at a view of this kind: its answer is without objects, with HTTP
   * status 200, for the view has ended with its session. `pages` of the read are answered rightly before; a read of fewer
   * goes unharmed, and so the next is meant.
   */
  loseView(kind: 'ContainerView' | 'ListView', pages?: number): Promise<void>
  /** Sets a fault; resolves with its number. The first that matches a call counts. */
  fault(fault: VcsimFault): Promise<number>
  /**
   * Puts a proxy before it, as before a site that is far away: each call takes from `least` to `most` milliseconds, an answer
   * that takes longer than `silence` becomes a 504, and one call in `every` fails. Without an argument it is near again.
   */
  setFar(far?: { least: number; most: number; silence: number; every: number }): Promise<void>
  /** What a later vCenter no longer serves: `/rest`, or versions of the SOAP interface other than these, newest first. */
  setGeneration(generation: { restGone?: boolean; apiVersions?: string[] }): Promise<void>
  faults(): Promise<(VcsimFault & { id: number; hits: number })[]>
  clearFaults(id?: number): Promise<void>
  /** Runs govc as the simulator's user; resolves with its standard output. Its calls count. */
  govc(...args: string[]): Promise<string>
  log(): string
  stop(): Promise<void>
}

/** Starts a simulator; a thousand machines take about 3 seconds. */
export async function startVcsim(options: VcsimOptions = {}): Promise<Vcsim> {
  const command = await serverBinary('vcsim')
  const { user: username = 'administrator@vsphere.local', password = 'secret' } = options
  const dir = await mkdtemp(join(tmpdir(), 'rollcall-vcsim-'))
  const certificateFile = join(dir, 'vcsim.crt')
  const removeDir = () => rm(dir, { recursive: true, force: true, maxRetries: 5 })
  try {
    const server = await startServer({
      name: 'vcsim',
      command,
      args: vcsimArgs(options, username, password, certificateFile),
      // The simulator's datastores are folders among the temporary files.
      env: { ...process.env, TMPDIR: dir },
      removes: dir,
    })
    const { url, controlUrl } = JSON.parse(server.firstLine) as { url: string; controlUrl: string }
    const certificate = new X509Certificate(await readFile(certificateFile))
    const control = createControlClient(controlUrl)
    const port = Number(new URL(url).port)
    const stop = async () => {
      await control.close()
      await server.stop()
      await removeDir()
    }
    return {
      ...createScenes(control),
      ...createRenewals(control, certificateFile),
      url,
      host: '127.0.0.1',
      port,
      username,
      password,
      certificateFile,
      thumbprint: certificate.fingerprint,
      thumbprint256: certificate.fingerprint256,
      controlUrl,
      dir,
      vms: () => control.call('GET', '/vms'),
      setGuest: (...guests) => control.call('POST', '/guest', guests),
      setGuestinfo: (...variables) => control.call('POST', '/guestinfo', variables),
      getGuestinfo: async (vm, key) => {
        const query = new URLSearchParams({ vm, key })
        return (await control.call<{ value: string | null }>('GET', `/guestinfo?${query}`)).value ?? undefined
      },
      setState: (...states) => control.call('POST', '/state', states),
      tag: (...attachments) => control.call('POST', '/tags', attachments),
      calls: () => control.call('GET', '/calls'),
      bytes: () => control.call('GET', '/bytes'),
      resetCalls: () => control.call('DELETE', '/calls'),
      sessions: async () => {
        const { soap, rest } = await control.call<Sessions>('GET', '/sessions')
        return { soap, rest }
      },
      userAgents: async () => (await control.call<Sessions>('GET', '/sessions')).userAgents,
      clients: async () => {
        const { userAgents, restUserAgents } = await control.call<Sessions>('GET', '/sessions')
        return { soap: userAgents, rest: restUserAgents }
      },
      operationIDs: () => control.call('GET', '/operation-ids'),
      endSessions: () => control.call('DELETE', '/sessions'),
      loseView: (kind, pages = 0) => control.call('POST', '/lost-views', { kind, pages }),
      fault: async (fault) => (await control.call<{ id: number }>('POST', '/faults', fault)).id,
      setGeneration: (generation) => control.call('POST', '/generation', generation),
      setFar: (far) => control.call('PUT', '/far', far ?? {}),
      faults: () => control.call('GET', '/faults'),
      clearFaults: (id) => control.call('DELETE', id === undefined ? '/faults' : `/faults?id=${id}`),
      govc: (...args) => govc({ url, username, password, certificateFile, dir }, args),
      log: server.log,
      stop,
      [Symbol.asyncDispose]: stop,
    }
  } catch (error) {
    await removeDir()
    throw error
  }
}

function vcsimArgs(options: VcsimOptions, user: string, password: string, certificate: string): string[] {
  const { cpus, memoryMB, disks, guestId, seed, apiVersion, port = 0 } = options
  const flags = {
    listen: `127.0.0.1:${port}`,
    user,
    password,
    certificate,
    dcs: options.dcs,
    clusters: options.clusters,
    hosts: options.hosts,
    vms: options.vms,
    cpus,
    memory: memoryMB,
    disks,
    'guest-id': guestId,
    seed,
    'api-version': apiVersion,
  }
  return Object.entries(flags).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}=${value}`]))
}

async function govc(
  at: Pick<Vcsim, 'url' | 'username' | 'password' | 'certificateFile' | 'dir'>,
  args: string[],
): Promise<string> {
  const { stdout } = await promisify(execFile)(await serverBinary('govc'), args, {
    env: {
      ...process.env,
      GOVC_URL: `${at.url}/sdk`,
      GOVC_USERNAME: at.username,
      GOVC_PASSWORD: at.password,
      GOVC_TLS_CA_CERTS: at.certificateFile,
      // Each run logs in and out, so that none leaves a session that a test would count.
      GOVC_PERSIST_SESSION: 'false',
      HOME: at.dir,
    },
  })
  return stdout
}
