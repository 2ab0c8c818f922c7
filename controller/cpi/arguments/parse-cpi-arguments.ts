import { failed, ok, type Result } from '../../../agent/shared/result.ts'
import type { GivenArguments } from '../../config/overrides.ts'
import type { RateLimit } from '../../kubernetes/flow-control.ts'
import { DEFAULT_TIMING, type ElectionTiming } from '../../kubernetes/leader-election.ts'
import { allOf, type FlagRow, type GivenFlags, lastOf, parseFlags } from './flags.ts'
import { checkNodeLabels, chooseControllers } from './node-flags.ts'
import { type SecureServing, secureServing } from './secure-serving.ts'
import { FLAGS } from './table.ts'

/** A log message for the start. */
interface Notice {
  readonly isWarning: boolean
  readonly message: string
}

/** What the CPI's arguments say, checked. Where the CPI's default is not ours, undefined means not given. */
export interface CpiArguments {
  readonly config: string
  readonly kubeconfig: string | undefined
  /** An address, or empty for all of them. */
  readonly bindAddress: string
  /** `ADDRESS:PORT`, or `off`. */
  readonly listen: string | undefined
  readonly leaseNamespace: string
  readonly leaseName: string | undefined
  readonly timing: ElectionTiming
  readonly apiLimit: RateLimit | undefined
  readonly verbosity: number
  /** Undefined where it is turned off. */
  readonly secure: SecureServing | undefined
  readonly given: GivenArguments
  readonly notices: readonly Notice[]
}

/** Reads a command line in the CPI's form; the error names all wrong flags at once, and never repeats a value. */
export function parseCpiArguments(
  args: readonly string[],
): Result<
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  | { readonly kind: 'start'; readonly arguments: CpiArguments }
> {
  const { given: flags, problems } = parseFlags(args, FLAGS)
  // Nothing else that is wrong is worth fixing then.
  if (lastOf(flags, FLAGS['cloud-provider']) === 'vsphere-paravirtual') return failed(SUPERVISED)
  if (problems.length > 0) return failed([...problems, ...refusedFlags(flags)].join('; '))
  if (lastOf(flags, FLAGS.help) === true) return ok({ kind: 'help' })
  // With `--version=v1.2.3` the CPI runs on, and calls itself by that version.
  if (/^(true|raw|1|t)$/i.test(lastOf(flags, FLAGS.version) ?? '')) return ok({ kind: 'version' })
  const config = lastOf(flags, FLAGS['cloud-config']) ?? ''
  const controllers = chooseControllers(allOf(flags, FLAGS.controllers))
  const labels = checkNodeLabels(allOf(flags, FLAGS['node-labels']).flatMap((each) => [...each]))
  const timing = electionTiming(flags)
  const secure = secureServing(flags)
  const wrong = [
    ...refusedFlags(flags),
    ...(config === '' ? [NO_CONFIG] : []),
    ...[controllers, labels, timing, secure].flatMap((read) => (read.ok ? [] : [read.message])),
  ]
  if (wrong.length > 0 || !controllers.ok || !labels.ok || !timing.ok || !secure.ok)
    return failed(wrong.join('; '))
  const address = lastOf(flags, FLAGS['bind-address']) ?? ''
  return ok({
    kind: 'start',
    arguments: {
      config,
      kubeconfig: lastOf(flags, FLAGS.kubeconfig) || undefined,
      bindAddress: address === '0.0.0.0' || address === '::' ? '' : address,
      listen: lastOf(flags, FLAGS.listen),
      leaseNamespace:
        lastOf(flags, FLAGS['leader-elect-resource-namespace']) ??
        FLAGS['leader-elect-resource-namespace'].default,
      leaseName: lastOf(flags, FLAGS['leader-elect-resource-name']),
      timing: timing.value,
      apiLimit: apiLimit(flags),
      verbosity: lastOf(flags, FLAGS.v) ?? 0,
      secure: secure.value,
      given: {
        initializes: controllers.value.node,
        endsNodes: controllers.value.lifecycle,
        nodeLabels: labels.value.labels,
      },
      notices: [
        ...withoutEffect(flags),
        ...leaseNotices(flags),
        ...[...controllers.value.warnings, ...labels.value.warnings].map((message) => ({
          isWarning: true,
          message,
        })),
      ],
    },
  })
}

const LEAST_QPS = 0.01

const SUPERVISED =
  '--cloud-provider=vsphere-paravirtual is not supported: in a cluster whose Nodes are VMs of a Supervisor, keep the CPI'

const NO_CONFIG =
  '--cloud-config is missing: expected the path of vsphere.conf, such as /etc/cloud/vsphere.conf'

/** Each flag with which the controller does not start, with what to do about it. */
function refusedFlags(flags: GivenFlags): readonly string[] {
  const provider = lastOf(flags, FLAGS['cloud-provider'])
  const lock = lastOf(flags, FLAGS['leader-elect-resource-lock'])
  return [
    ...(provider === undefined || provider === 'vsphere' ? [] : ['--cloud-provider: expected vsphere']),
    ...(lock === undefined || lock === 'leases'
      ? []
      : ['--leader-elect-resource-lock: expected leases, the only lock there is']),
    ...[...written(flags)].flatMap(([name, { row, texts }]) =>
      row.support.is === 'refused' && !texts.every((text) => asDefault(row, text))
        ? [`--${name} is not supported: ${row.support.because}`]
        : [],
    ),
  ]
}

/** Each flag that is given and has no effect, unless its value describes what Rollcall does anyway. */
function withoutEffect(flags: GivenFlags): readonly Notice[] {
  return [...written(flags)].flatMap(([name, { row, texts }]) => {
    const { support } = row
    if (support.is !== 'accepted' || texts.every((text) => asDefault(row, text))) return []
    return [{ isWarning: support.warns === true, message: `--${name} has no effect: ${support.because}` }]
  })
}

function written(
  flags: GivenFlags,
): ReadonlyMap<string, { readonly row: FlagRow<unknown>; readonly texts: readonly string[] }> {
  const found = new Map<string, { row: FlagRow<unknown>; texts: readonly string[] }>()
  for (const [name, row] of Object.entries<FlagRow<unknown>>(FLAGS)) {
    const texts = flags.get(row)
    if (texts !== undefined) found.set(name, { row, texts })
  }
  return found
}

/** Whether a flag's text equals the default, the CPI's or ours: `false`, but also `0` or `F`. */
function asDefault({ kind, default: standard, here = standard }: FlagRow<unknown>, text: string): boolean {
  const given = kind.parse(text)
  return [standard, here].some((idle) => {
    if (text === idle) return true
    const unset = kind.parse(idle)
    return given.ok && unset.ok && given.value === unset.value
  })
}

function leaseNotices(flags: GivenFlags): readonly Notice[] {
  const alone = lastOf(flags, FLAGS['leader-elect']) === false
  const shared =
    lastOf(flags, FLAGS['leader-elect-resource-name']) === FLAGS['leader-elect-resource-name'].default
  return [
    ...(alone ? [{ isWarning: false, message: ALONE }] : []),
    ...(shared ? [{ isWarning: true, message: SHARED }] : []),
  ]
}

const ALONE =
  '--leader-elect=false: the Lease is still taken, because logins to vCenter are counted in it and deletions depend on it; a single replica leads at once, or 15 s after the one before it was killed'
const SHARED =
  "--leader-elect-resource-name is the CPI's Lease: only one of the two works at a time, and the account needs the right to update that Lease; without this flag the Lease is rollcall-controller"

/** client-go's own conditions (`NewLeaderElector`), and a whole second, which is what a Lease can hold. */
function electionTiming(flags: GivenFlags): Result<ElectionTiming> {
  const leaseDuration = lastOf(flags, FLAGS['leader-elect-lease-duration']) ?? DEFAULT_TIMING.leaseDuration
  const renewDeadline = lastOf(flags, FLAGS['leader-elect-renew-deadline']) ?? DEFAULT_TIMING.renewDeadline
  const retryPeriod = lastOf(flags, FLAGS['leader-elect-retry-period']) ?? DEFAULT_TIMING.retryPeriod
  if (leaseDuration < 1_000) return failed('--leader-elect-lease-duration: expected at least 1s')
  if (leaseDuration <= renewDeadline)
    return failed(
      '--leader-elect-lease-duration: expected more than --leader-elect-renew-deadline, which is 10s by default',
    )
  if (retryPeriod <= 0 || renewDeadline <= retryPeriod * 1.2)
    return failed(
      '--leader-elect-renew-deadline: expected more than 1.2 times --leader-elect-retry-period, which is 2s by default, and both more than 0s',
    )
  return ok({ leaseDuration, renewDeadline, retryPeriod })
}

function apiLimit(flags: GivenFlags): RateLimit | undefined {
  const [qps, burst] = [lastOf(flags, FLAGS['kube-api-qps']), lastOf(flags, FLAGS['kube-api-burst'])]
  if (qps === undefined && burst === undefined) return undefined
  const limit = {
    qps: qps ?? Number(FLAGS['kube-api-qps'].default),
    burst: burst ?? Number(FLAGS['kube-api-burst'].default),
  }
  // A timer longer than 32 bits allow fires at once.
  return limit.qps > 0 ? { qps: Math.max(LEAST_QPS, limit.qps), burst: Math.max(1, limit.burst) } : undefined
}
