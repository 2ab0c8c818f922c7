/** The two forms of vCenter's REST interface. */

/** How to write a call, and how to read its answer: vCenter's REST interface has two forms. */
export interface RestInterface {
  /** The path of a call, with its query. */
  path(resource: string, id: string | undefined, action: string | undefined): string
  /** The value in an answer's document. */
  value(document: unknown): unknown
}

/** All versions of vCenter up to 8.0 have it. */
export const REST: RestInterface = {
  path: (resource, id, action) =>
    `/rest/com/vmware/cis/${resource}${id === undefined ? '' : `/id:${encodeURIComponent(id)}`}` +
    (action === undefined ? '' : `?~action=${action}`),
  value: (document) => (document instanceof Object && 'value' in document ? document.value : undefined),
}

/** From 7.0 U2 on. Sessions are at its root, and actions name their object only in the body. */
export const API: RestInterface = {
  path(resource, id, action) {
    if (resource === 'session') return '/api/session'
    if (action !== undefined) return `/api/cis/${resource}?action=${action}`
    return `/api/cis/${resource}${id === undefined ? '' : `/${encodeURIComponent(id)}`}`
  },
  value: (document) => document,
}
