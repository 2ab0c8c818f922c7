import { type ShowContext, showKubectl } from './kubectl.ts'
import type { DemoForger } from './scene.ts'
import type { DemoSite } from './site.ts'

/** What the forger is left with; to be said where it has been checked. */
export function outcome({ pretense, victim }: DemoForger): string {
  return `${pretense.name} keeps its taint and has no provider ID; the Node and the NodeReport of ${victim.name} are the same, byte for byte.`
}

/** Says what the forger tried, and shows what an operator sees of it. */
export async function explainForgery(site: DemoSite, context: ShowContext): Promise<void> {
  const { pretense, vm, victim } = site.forger
  const { name } = pretense
  const { style, print } = context.terminal
  print(
    '',
    `${style('bold', 'The forger.')} Node ${name} runs in a VM of its own, ${vm.name}, and has a valid credential of its own,`,
    `but reports the serial number and the MAC addresses of ${victim.vm.name}, the VM of ${victim.name}.`,
  )
  await showKubectl(site, context, `kubectl describe nodereport ${name} | grep -B5 'Type: *IdentityVerified'`)
  await showKubectl(site, context, `kubectl events --for node/${name}`)
}
