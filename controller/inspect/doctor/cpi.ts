/** Whether a vSphere CPI runs, and what one has left behind. */
import { type CheckResult, fail, fine, skip, warn } from '../../../agent/shared/diagnosis.ts'
import { attempt } from '../../../agent/shared/result.ts'
import type { CPIFindings } from '../../cpi/cpi-in-cluster.ts'
import { sourceText } from '../../cpi/interlock/container-environment.ts'
import { handlesNodes, nameOf } from '../../cpi/interlock/find-cpi.ts'
import { firstLook } from '../../cpi/interlock/interlock.ts'
import { isUnseen } from '../../cpi/interlock/judge-interlock.ts'
import type { NSXWarning } from '../../cpi/nsx.ts'
import { userOf } from '../../kubernetes/access-review.ts'
import { hasStatus } from '../../kubernetes/api-error.ts'
import { listed } from '../../lib/format.ts'
import { ownControllers } from '../../loops/table.ts'
import { clusterCheck } from './cluster.ts'

export const CPI = {
  cpi: clusterCheck({
    name: 'vSphere CPI',
    async look({ client, lease, config, cpi, clock, random, logger }, signal) {
      const controllers = config === undefined ? { node: true, lifecycle: true } : ownControllers(config)
      const own = { lease, controllers }
      const [{ state, remarks }, found] = await Promise.all([
        firstLook({ client, own, clock, random, logger }, signal),
        attempt(cpi),
      ])
      const denied = !found.ok && hasStatus(found.error, 403)
      return { interlock: state, remarks, cpi: found.ok ? found.value : undefined, denied }
    },
    judge({ interlock, remarks, cpi, denied }, { user, accounts }) {
      // The controller's own account sees what matters to the leader.
      if (
        denied &&
        user !== userOf(accounts.controller) &&
        (interlock?.state === 'held' || remarks.length > 0)
      )
        return skip(
          'this account is not allowed to see whether a vSphere CPI handles Nodes; use the kubeconfig of an administrator',
        )
      if (cpi !== undefined) {
        const paravirtual = [...cpi.cpi, ...cpi.others].find(
          ({ flags }) => flags.cloudProvider === 'vsphere-paravirtual',
        )
        if (paravirtual !== undefined)
          return fail(
            `${nameOf(paravirtual)} runs with --cloud-provider=vsphere-paravirtual: the Nodes are VMs of a Supervisor; keep it, and remove Rollcall`,
          )
      }
      const skips = cpi === undefined ? [] : skipsDeletion(cpi)
      if (interlock?.state === 'held') return fail([interlock.message, ...skips].join('; '))
      const found = cpi?.cpi ?? []
      const unseen = found.find((each) => handlesNodes(each) && isUnseen(each) && each.pods > 0)
      if (unseen !== undefined)
        return fail(
          [
            `${nameOf(unseen)} handles Nodes as well, but the controller does not see it outside kube-system; stop it, or start it with --controllers=service,route`,
            ...skips,
          ].join('; '),
        )
      const [remark] = remarks
      if (remark !== undefined) return warn([remark, ...skips].join('; '))
      if (interlock === undefined)
        return warn('it took too long to find out whether a CPI handles Nodes; check the API server')
      if (skips.length > 0) return warn(skips.join('; '))
      const neighbors = found.filter((each) => !handlesNodes(each)).map(nameOf)
      return fine(neighbors.length === 0 ? 'none handles Nodes' : `${listed(neighbors)} leaves Nodes alone`)
    },
  }),
  loadBalancers: clusterCheck({
    name: 'LoadBalancer Services',
    look: ({ cpi }) => cpi(),
    judge({ cpi, others, loadBalancers, nsx }) {
      const none = loadBalancers.length === 0 ? 'none has the finalizer of a cloud provider' : undefined
      if ([...cpi, ...others].some(({ serves, pods }) => serves.services && pods > 0))
        return beside(
          nsx,
          'services',
          none ?? `${loadBalancers.length} are served by a cloud controller manager`,
        )
      if (none !== undefined) return fine(none)
      return warn(
        `${listed(loadBalancers)}: nothing serves their load balancers, and deleting them never completes; run the CPI with --controllers=service,route, or remove their finalizer service.kubernetes.io/load-balancer-cleanup and the load balancers by hand`,
      )
    },
  }),
  routes: clusterCheck({
    name: 'routes',
    look: ({ cpi }) => cpi(),
    judge({ cpi, others, routedNodes, nsx }) {
      const none = routedNodes.length === 0 ? 'no cloud provider has made any' : undefined
      if ([...cpi, ...others].some(({ serves, pods }) => serves.routes && pods > 0))
        return beside(nsx, 'routes', none ?? 'a cloud controller manager maintains them')
      if (none !== undefined) return fine(none)
      return warn(
        `a cloud provider has made routes for ${listed(routedNodes)}, but nothing maintains them; run the CPI with --controllers=service,route, or let the network plugin do it`,
      )
    },
  }),
}

/** What is said while a CPI serves them: what it meets in NSX, or where nothing is known of that, why. */
function beside(nsx: CPIFindings['nsx'], of: NSXWarning['of'], served: string): CheckResult {
  if (!nsx.ok) return fine(`${served}; what that meets in NSX is not known: ${nsx.message}`)
  const messages = nsx.value.filter((each) => each.of === of).map(({ message }) => message)
  return messages.length === 0 ? fine(served) : warn([served, ...messages].join('; '))
}

/** What is said of a CPI that has SKIP_NODE_DELETION, or may have it; nothing where none has. */
function skipsDeletion({ cpi }: CPIFindings): readonly string[] {
  const next =
    'Rollcall does not see that: if no Node is to be deleted, write "deletion: off" under "lifecycle"'
  const running = cpi.filter(({ pods }) => pods > 0)
  const skips = running.find((each) => each.skipsDeletion)
  if (skips !== undefined) return [`${nameOf(skips)} has SKIP_NODE_DELETION, so it deletes no Nodes`, next]
  const hidden = running.find((each) => handlesNodes(each) && each.variableSources.some(({ whole }) => whole))
  if (hidden === undefined) return []
  const sources = listed(hidden.variableSources.filter(({ whole }) => whole).map(sourceText))
  return [
    `${nameOf(hidden)} gets environment variables from ${sources}: look there for SKIP_NODE_DELETION`,
    next,
  ]
}
