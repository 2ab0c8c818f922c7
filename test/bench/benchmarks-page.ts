/** `docs/benchmarks.md` and its picture, written anew by the benchmark itself. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from '../../build/programs.ts'
import type { AdmissionFigure } from './admission.ts'
import { type Budgeted, budgetTable } from './budgets.ts'
import type { BenchmarkRun } from './initialize.ts'
import { picture } from './picture.ts'
import { admissionTable, initializeTable, quietTable } from './table.ts'

export interface Figures {
  readonly runs: readonly BenchmarkRun[]
  readonly admission: readonly AdmissionFigure[]
  readonly budgets: readonly Budgeted[]
  /** How the page was made. */
  readonly command: string
  readonly cores: number
}

/** The page, without its picture. */
export function benchmarksPage({ runs, admission, budgets, command, cores }: Figures): string {
  return `# Benchmarks

Rollcall and the vSphere CPI (v1.36.0, built from its sources) initialize the same Nodes, one after the other, on the same machine: ${cores}
cores, on which the API server, etcd and a simulated vCenter run too. So compare the columns, not your cluster. Written by

    ${command}

![Time, vCenter calls, API writes, memory and CPU of both, by the number of Nodes](benchmarks.svg)

The scale is logarithmic.

## From the start until all Nodes are initialized

For Rollcall, the middle of three runs.

${initializeTable(runs)}

"Reports arrive": the controller leads already when a load generator reports. "Untainted without address": Nodes to which Pods could be scheduled before
they had an address.

## When nothing happens

${quietTable(runs)}

## What our policies add to a write

${admissionTable(admission)}

CPU of the API server for one PATCH; the controller changes zone and taints. The budget is 1.1 times, for the controller 1.3, and 1.5 with more labels or
taints than anybody needs. Before Kubernetes 1.37 a heartbeat costs more: 1.13 to 1.17 times the bare one up to 1.35, where one policy sees it, and 1.20
to 1.24 times in 1.36, where two do: [ADR 9](adr/0009-what-a-write-costs-the-api-server.md).

## Budgets

${budgetTable(budgets)}

The floor is what the API server needs for a Node's two initial writes, in the same minutes, with our manifests and the controller's credential. The bare
floor has neither.
`
}

/** Writes both files. */
export async function writeBenchmarksPage(figures: Figures): Promise<void> {
  const docs = join(root, 'docs')
  await writeFile(join(docs, 'benchmarks.md'), benchmarksPage(figures))
  const compared = figures.runs.filter(({ provider }) => !provider.includes('reports arrive'))
  await writeFile(join(docs, 'benchmarks.svg'), picture(compared))
}
