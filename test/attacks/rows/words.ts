import { type AttackRow, theme } from './row.ts'

function row(credential: string, tried: string, seen: string): AttackRow {
  const victim = 'sees replacement characters'
  return { credential, tried, refusedBy: 'controller', seen, victim }
}

/** Control characters in what the controller tells operators, by conditions, Events and its log. */
export const words = theme("Names that would act on an operator's terminal", {
  'provider ID': row('kubelet', 'a provider ID with them, at registration', 'ForeignProviderID'),
  copy: row('a tenant', 'a copy with them in its name', 'CopyFound'),
  'VM that goes': row('a tenant', "them in the name of a Node's VM, which he then destroys", 'NodeDeleted'),
})
