import { existsSync } from 'node:fs'
import { access, mkdir, readdir, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const ROOT = '/sys/fs/cgroup'
/** What a kubelet wants to limit. */
const CONTROLLERS = ['cpu', 'cpuset', 'memory', 'pids', 'hugetlb'] as const

/** Whether there is one hierarchy for all controllers. */
export function isUnified(): boolean {
  return existsSync(join(ROOT, 'cgroup.controllers'))
}

/** The folders of all hierarchies. */
async function hierarchies(): Promise<string[]> {
  if (isUnified()) return [ROOT]
  const entries = await readdir(ROOT, { withFileTypes: true })
  // cpu and cpuacct may be links to one folder.
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(ROOT, name))
}

/** Makes a cgroup in each hierarchy, as "/a/b", in which others may be made that have limits. */
export async function makeCgroup(path: string): Promise<void> {
  for (const hierarchy of await hierarchies()) {
    await mkdir(join(hierarchy, path), { recursive: true })
    if (!isUnified()) continue
    const parts = path.split('/')
    for (let depth = 1; depth <= parts.length; depth++)
      await delegate(join(hierarchy, ...parts.slice(0, depth)))
  }
}

async function delegate(folder: string): Promise<void> {
  for (const controller of CONTROLLERS)
    await writeFile(join(folder, 'cgroup.subtree_control'), `+${controller}`).catch(() => undefined)
}

/** Removes a cgroup and those in it, whose processes are ending; gives up after some seconds. */
export async function removeCgroup(path: string): Promise<void> {
  for (const hierarchy of await hierarchies()) {
    const folder = join(hierarchy, path)
    for (let tries = 100; ; tries--) {
      try {
        await removeTree(folder)
        break
      } catch (error) {
        if (tries === 0) throw error
        await sleep(100)
      }
    }
  }
}

/** Files of cgroups cannot be removed, and go with their folders. */
async function removeTree(folder: string): Promise<void> {
  const there = await access(folder).then(
    () => true,
    () => false,
  )
  if (!there) return
  for (const entry of await readdir(folder, { withFileTypes: true }))
    if (entry.isDirectory()) await removeTree(join(folder, entry.name))
  await rmdir(folder)
}
