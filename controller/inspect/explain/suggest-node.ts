import { didYouMean } from '../../../agent/shared/did-you-mean.ts'
import { previousStatus } from '../../loops/node/facts/previous-status.ts'
import type { Node, NodeReport } from '../../types/node.ts'

/** What may be said where no Node has this name: the Node that was probably meant, and why. */
export function suggestNode(
  word: string,
  nodes: readonly Node[],
  report: (name: string) => NodeReport | undefined,
): string {
  const names = nodes.map(({ name }) => name)
  const ofVM = nodes.find((node) => previousStatus(report(node.name), node).vm?.name === word)
  if (ofVM !== undefined) return `; VM "${word}" is Node ${ofVM.name}`
  const ofAddress = nodes.find(({ addresses }) => addresses.some(({ address }) => address === word))
  if (ofAddress !== undefined) return `; ${word} is an address of Node ${ofAddress.name}`
  const near =
    names.find((name) => name.startsWith(`${word}.`) || word.startsWith(`${name}.`)) ??
    didYouMean(word, names)
  if (near !== undefined) return `: did you mean ${near}?`
  return nodes.length === 0 ? '; there are no Nodes' : '; "kubectl get nodes" lists them all'
}
