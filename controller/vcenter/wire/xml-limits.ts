/** Limits on answers in XML: they come through proxies and contain what guests write. */

/** vCenter's answers are about ten levels deep; snapshots nest deeper, but are never requested. */
export const MAX_DEPTH = 64
/** Elements in memory at once; a VM's devices take some hundred. */
export const MAX_ELEMENTS = 100_000
/** Characters in memory at once, outside records and in one record. */
export const MAX_TEXT = 1 << 20
export const MAX_RECORD_TEXT = 4 << 20
/** Characters of one text in a record; the rest is skipped, as no expected text is as long. */
export const MAX_RECORD_VALUE = 1 << 16
/** Attributes of one element; namespaces count. */
export const MAX_ATTRIBUTES = 64
/** Characters of one start tag. */
export const MAX_TAG = 1 << 18
/**
 * Characters that the parser may buffer for one text or comment: a guest may have written a megabyte, and each character may
 * take six.
 */
export const MAX_GATHERED = 8 << 20
/** Bytes of an answer that is read as a whole. */
export const MAX_BYTES = 1 << 20
/** Bytes of an answer that is read record by record: enough for ten thousand VMs in one page. */
export const MAX_BYTES_BY_RECORD = 64 << 20
