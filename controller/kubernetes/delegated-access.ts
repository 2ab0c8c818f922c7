import { hash } from 'node:crypto'
import * as v from 'valibot'
import type { Clock } from '../../agent/shared/clock.ts'
import { messageOf } from '../../agent/shared/result.ts'
import type { Logger } from '../lib/log.ts'
import { AccessReview, review } from './access-review.ts'
import type { KubeClient } from './client.ts'

export interface AccessRequest {
  /** As in HTTP. */
  readonly method: string
  readonly path: string
  /** The header of that name. */
  readonly authorization: string | undefined
  /** Undefined where none is shown, or none is looked at. */
  readonly certificate: ClientCertificate | undefined
}

/** What a client's certificate says of it. */
export interface ClientCertificate {
  /** Whether it is in force, for clients, and of a CA that is known here. */
  readonly verified: boolean
  /** Empty where it has none. */
  readonly commonName: string
  readonly organizations: readonly string[]
}

/** Why a request gets no answer. */
export interface Denial {
  readonly status: 401 | 403 | 503
  /** For the client: says nothing about anybody else. */
  readonly line: string
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

/** Whoever shows neither token nor certificate, as the API server calls them. */
const ANONYMOUS: User = { username: 'system:anonymous', groups: ['system:unauthenticated'] }
/** The group of all others. */
const AUTHENTICATED = 'system:authenticated'
/** May do everything, by the API server's own rule. */
const MASTERS = 'system:masters'
/** Answers that are remembered, of each kind. */
const MEMORY = 256
/** Callers may be anonymous: so many reviews run at once, and none for so many milliseconds after one failed. */
const MAX_ASKING = 8
const FAILED_FOR = 1_000
/** Milliseconds for one answer. */
const TIMEOUT = 5_000

const REFUSED: Denial = {
  status: 401,
  line: 'no token and no client certificate that is valid here: present one of this cluster',
}
const BUSY: Denial = { status: 503, line: 'too many requests at once: try again' }
const UNKNOWN: Denial = { status: 503, line: 'the API server does not say who may see this: try again' }

/**
 * Has the API server say whether somebody may ask for a path (SubjectAccessReview), as Kubernetes' own servers do. A client is
 * identified by its certificate, as by the API server itself (CN the user, O the groups), or else by its token (TokenReview).
 */
export function createDelegatedAccess(options: {
  /** Whose account has the ClusterRole `system:auth-delegator`; the second asks whether a user may. */
  readonly authentication: KubeClient
  readonly authorization: KubeClient
  /** Paths that everybody may ask for; one that ends in `*` is a beginning. */
  readonly alwaysAllow: readonly string[]
  /** For how long an answer counts, milliseconds. */
  readonly ttl: { readonly token: number; readonly allowed: number; readonly denied: number }
  readonly clock: Clock
  readonly logger: Logger
}) {
  const { authentication, authorization: reviewer, alwaysAllow, ttl, clock, logger } = options
  /** Both kinds of questions together. */
  const gate = { asking: 0 }
  const users = createMemory<User | undefined>(clock, gate)
  const permissions = createMemory<boolean>(clock, gate)
  // An answer is for all who wait for it, and for those who come later: nobody who hangs up ends the question.
  const about = { signal: new AbortController().signal, timeout: TIMEOUT }
  let complained = false

  async function userOf({ authorization, certificate }: AccessRequest): Promise<User | undefined> {
    const known = certificate && userOfCertificate(certificate)
    if (known !== undefined) return known
    if (authorization === undefined) return certificate?.verified === false ? undefined : ANONYMOUS
    const [, token] = /^bearer +(\S+) *$/i.exec(authorization) ?? []
    if (token === undefined) return undefined
    // The token itself is not kept.
    const key = hash('sha256', token, 'hex')
    return users.get(key, async () => {
      const answer = await review(
        authentication,
        'authentication.k8s.io',
        'TokenReview',
        { spec: { token } },
        about,
      )
      const { authenticated, user } = v.parse(TokenReview, answer).status
      return { value: authenticated ? user : undefined, ttl: ttl.token }
    })
  }

  async function may(user: User, verb: string, path: string): Promise<boolean> {
    if (user.groups.includes(MASTERS)) return true
    return permissions.get(JSON.stringify([user, verb, path]), async () => {
      const { username, ...rest } = user
      const spec = { user: username, ...rest, nonResourceAttributes: { path, verb } }
      const answer = await review(reviewer, 'authorization.k8s.io', 'SubjectAccessReview', { spec }, about)
      const { allowed } = v.parse(AccessReview, answer).status
      return { value: allowed, ttl: allowed ? ttl.allowed : ttl.denied }
    })
  }

  return {
    /** Undefined where the request may be answered. Never throws. */
    async judge(request: AccessRequest): Promise<Denial | undefined> {
      const { method, path } = request
      if (alwaysAllow.some((allowed) => covers(allowed, path))) return undefined
      try {
        const user = await userOf(request)
        if (user === undefined) return REFUSED
        const allowed = await may(user, method.toLowerCase(), path)
        complained = false
        return allowed ? undefined : forbidden(method, path)
      } catch (error) {
        if (error === TOO_MANY) return BUSY
        if (!complained) {
          complained = true
          const cause = messageOf(error)
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

/** Undefined where it names nobody. */
function userOfCertificate({ verified, commonName, organizations }: ClientCertificate): User | undefined {
  if (!verified || commonName === '') return undefined
  return { username: commonName, groups: [...organizations, AUTHENTICATED] }
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

/** Thrown where a question is not asked. */
const TOO_MANY = new Error('too many questions at once')

function createMemory<T>(clock: Clock, gate: { asking: number }) {
  const kept = new Map<string, { readonly answer: Promise<T>; until: number }>()
  return {
    /**
     * What is remembered, or else what `ask` finds out; who comes meanwhile waits for the same answer.
     *
     * @throws what `ask` throws, for a while without asking again, or TOO_MANY
     */
    async get(key: string, ask: () => Promise<{ readonly value: T; readonly ttl: number }>): Promise<T> {
      const found = kept.get(key)
      if (found !== undefined && clock.monotonic() < found.until) return found.answer
      if (gate.asking >= MAX_ASKING) throw TOO_MANY
      gate.asking++
      const { promise, resolve, reject } = Promise.withResolvers<T>()
      const entry = { answer: promise, until: Number.POSITIVE_INFINITY }
      kept.delete(key)
      const [oldest] = kept.keys()
      if (kept.size >= MEMORY && oldest !== undefined) kept.delete(oldest)
      kept.set(key, entry)
      try {
        const { value, ttl } = await ask()
        entry.until = clock.monotonic() + ttl
        resolve(value)
      } catch (error) {
        entry.until = clock.monotonic() + FAILED_FOR
        reject(error)
      } finally {
        gate.asking--
      }
      return promise
    },
  }
}
