import { createHash } from 'node:crypto'
import * as v from 'valibot'
import type { Clock } from '../../agent/shared/clock.ts'
import type { Logger } from '../log.ts'
import type { KubeClient } from './client.ts'

export interface AccessRequest {
  /** As in HTTP. */
  readonly method: string
  readonly path: string
  /** The header of that name. */
  readonly authorization: string | undefined
}

/** Why a request gets no answer. */
export interface Denial {
  readonly status: 401 | 403 | 503
  /** For whoever asked: says nothing about anybody else. */
  readonly line: string
}

export interface DelegatedAccessOptions {
  /** Whose account has the ClusterRole `system:auth-delegator`; the second asks whether a user may. */
  readonly authentication: KubeClient
  readonly authorization: KubeClient
  /** Paths that everybody may ask for; one that ends in `*` is a beginning. */
  readonly alwaysAllow: readonly string[]
  /** For how long an answer counts, milliseconds. */
  readonly ttl: { readonly token: number; readonly allowed: number; readonly denied: number }
  readonly clock: Clock
  readonly logger: Logger
}

export interface DelegatedAccess {
  /** Undefined where the request may be answered. Never throws. */
  judge(request: AccessRequest, signal: AbortSignal): Promise<Denial | undefined>
}

const UserInfo = v.object({
  username: v.nullish(v.string(), ''),
  uid: v.optional(v.string()),
  groups: v.nullish(v.array(v.string()), []),
  extra: v.optional(v.record(v.string(), v.array(v.string()))),
})
type User = v.InferOutput<typeof UserInfo>
const TokenReview = v.object({
  status: v.object({ authenticated: v.nullish(v.boolean(), false), user: v.optional(UserInfo) }),
})
const AccessReview = v.object({ status: v.object({ allowed: v.nullish(v.boolean(), false) }) })

/** Whoever shows no token, as the API server calls them. */
const ANONYMOUS: User = { username: 'system:anonymous', groups: ['system:unauthenticated'] }
/** May do everything, by the API server's own rule. */
const MASTERS = 'system:masters'
/** Answers that are remembered, of each kind. */
const MEMORY = 256

const REFUSED: Denial = { status: 401, line: 'the token is not valid: show one of this cluster' }
const UNKNOWN: Denial = { status: 503, line: 'the API server cannot be asked who may see this: try again' }

/**
 * Has the API server say who asks (TokenReview) and whether they may (SubjectAccessReview of a path), as Kubernetes' own
 * servers do. Client certificates are not looked at.
 */
export function createDelegatedAccess(options: DelegatedAccessOptions): DelegatedAccess {
  const { authentication, authorization, alwaysAllow, ttl, clock, logger } = options
  const users = createMemory<User | undefined>(clock)
  const verdicts = createMemory<boolean>(clock)
  let complained = false

  async function userOf(header: string | undefined, signal: AbortSignal): Promise<User | undefined> {
    if (header === undefined) return ANONYMOUS
    const [, token] = /^bearer +(\S+) *$/i.exec(header) ?? []
    if (token === undefined) return undefined
    // The token itself is not kept.
    const key = createHash('sha256').update(token).digest('hex')
    return users.get(key, async () => {
      const answer = await authentication.request({
        method: 'POST',
        path: '/apis/authentication.k8s.io/v1/tokenreviews',
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } },
        signal,
      })
      const { authenticated, user } = v.parse(TokenReview, answer).status
      return { value: authenticated ? user : undefined, ttl: ttl.token }
    })
  }

  async function may(user: User, verb: string, path: string, signal: AbortSignal): Promise<boolean> {
    if (user.groups.includes(MASTERS)) return true
    return verdicts.get(JSON.stringify([user, verb, path]), async () => {
      const { username, ...rest } = user
      const spec = { user: username, ...rest, nonResourceAttributes: { path, verb } }
      const answer = await authorization.request({
        method: 'POST',
        path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
        body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec },
        signal,
      })
      const { allowed } = v.parse(AccessReview, answer).status
      return { value: allowed, ttl: allowed ? ttl.allowed : ttl.denied }
    })
  }

  return {
    async judge({ method, path, authorization: header }, signal) {
      if (alwaysAllow.some((allowed) => covers(allowed, path))) return undefined
      try {
        const user = await userOf(header, signal)
        if (user === undefined) return REFUSED
        const allowed = await may(user, method.toLowerCase(), path, signal)
        complained = false
        return allowed ? undefined : forbidden(method, path)
      } catch (error) {
        if (!complained && !signal.aborted) {
          complained = true
          const cause = error instanceof Error ? error.message : String(error)
          logger.warn(
            { cause },
            'cannot ask who may see the secure port; the account needs the ClusterRole system:auth-delegator',
          )
        }
        return UNKNOWN
      }
    },
  }
}

function forbidden(method: string, path: string): Denial {
  const verb = method.toLowerCase()
  return {
    status: 403,
    line: `forbidden: a ClusterRole with nonResourceURLs ["${path}"] and verbs ["${verb}"] allows it`,
  }
}

function covers(allowed: string, path: string): boolean {
  return allowed.endsWith('*') ? path.startsWith(allowed.slice(0, -1)) : allowed === path
}

interface Memory<T> {
  /** What is remembered, or else what `ask` finds out; what it throws is not remembered. */
  get(key: string, ask: () => Promise<{ readonly value: T; readonly ttl: number }>): Promise<T>
}

function createMemory<T>(clock: Clock): Memory<T> {
  const kept = new Map<string, { readonly value: T; readonly until: number }>()
  return {
    async get(key, ask) {
      const found = kept.get(key)
      if (found !== undefined && clock.monotonic() < found.until) return found.value
      const { value, ttl } = await ask()
      kept.delete(key)
      const [oldest] = kept.keys()
      if (kept.size >= MEMORY && oldest !== undefined) kept.delete(oldest)
      kept.set(key, { value, until: clock.monotonic() + ttl })
      return value
    },
  }
}
