/** How much of an answer is read, and held at once: vCenter's answers come through proxies, and tell what guests say. */

/** vCenter's answers are about ten levels deep; snapshots nest, but are never asked for. */
export const MAX_DEPTH = 64
/** Elements held at once: a VM's devices are some hundred. */
export const MAX_ELEMENTS = 100_000
/** Characters held at once, outside of records and in one. */
export const MAX_TEXT = 1 << 20
export const MAX_RECORD_TEXT = 4 << 20
/** Characters of one text in a record; the rest is passed over, for none that is meant is as long. */
export const MAX_RECORD_VALUE = 1 << 16
/** Attributes of one element; namespaces count. */
export const MAX_ATTRIBUTES = 64
/** Characters of one start tag. */
export const MAX_TAG = 1 << 18
/**
 * Characters that the parser may gather, for a text or a comment, before it hands anything over: a guest may have
 * written a megabyte, each character of which may take six.
 */
export const MAX_GATHERED = 8 << 20
/** Bytes of an answer that is kept whole. */
export const MAX_BYTES = 1 << 20
/** Bytes of an answer that is taken record by record: ten thousand VMs in one page stay under it. */
export const MAX_BYTES_BY_RECORD = 64 << 20
