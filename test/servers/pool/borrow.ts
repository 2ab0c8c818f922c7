import { once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { type Cluster, openCluster } from '../cluster.ts'
import { applyManifests } from '../manifests.ts'
import { startCluster } from '../start-cluster.ts'
import { DONE, LENDER_PORT, type Loan } from './protocol.ts'

/**
 * A cluster with Rollcall's manifests in force and nothing else in it: one that the test run lends, or, for a test that
 * runs alone, one that is started for it.
 *
 * Whatever a test writes may be left behind, and what the manifests brought may be changed: it is as before when the next
 * test has the cluster. What the API server keeps for itself is not: its metrics go on, the port of a Service may stay in
 * use. A test that stops or configures the API server starts one of its own instead.
 */
export async function borrowCluster(env: NodeJS.ProcessEnv = process.env): Promise<Cluster> {
  const port = env[LENDER_PORT]
  return port === undefined ? startWithManifests() : borrow(Number(port))
}

async function startWithManifests(): Promise<Cluster> {
  const cluster = await startCluster()
  try {
    await applyManifests(cluster)
    return cluster
  } catch (error) {
    await cluster.stop()
    throw error
  }
}

async function borrow(port: number): Promise<Cluster> {
  const socket = connect(port, '127.0.0.1')
  const closed = once(socket, 'close')
  const [line] = (await Promise.race([
    once(createInterface(socket), 'line'),
    closed.then(() => Promise.reject(new Error('the lender of clusters hung up'))),
  ])) as [string]
  const loan: Loan = JSON.parse(line)
  if ('error' in loan) throw new Error(`no cluster is lent: ${loan.error}`)
  const cluster = await openCluster(loan.files, loan.dir)
  const stop = async () => {
    await cluster.stop()
    if (!socket.writableEnded) socket.end(DONE)
    await closed
  }
  return { ...cluster, stop, [Symbol.asyncDispose]: stop }
}
