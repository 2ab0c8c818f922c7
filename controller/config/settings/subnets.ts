import ipaddr from 'ipaddr.js'
import { failed, ok, type Result } from '../../../agent/shared/result.ts'
import { shapeOfText } from '../tree.ts'
import { itemsOf } from './values.ts'

/**
 * Subnets with commas between, of either family. Blanks around them do not count; the CPI fails on those, but only when it
 * looks for a Node's addresses.
 */
export function parseCIDRs(written: string): Result<readonly string[]> {
  const items = itemsOf(written)
  const wrong = items.findIndex((item) => !isCIDR(item))
  if (wrong === -1) return ok(items.map((item) => item.toLowerCase()))
  const which = items.length === 1 ? '' : `number ${wrong + 1} of ${items.length} is wrong: `
  return failed(
    `${which}expected a subnet such as 10.0.0.0/8 or fd00::/64, got ${shapeOfText(items[wrong] ?? '')}`,
  )
}

/** As Go's net.ParseCIDR: bits after the prefix may be set; IPv4 has four numbers, and no zone is allowed. */
function isCIDR(item: string): boolean {
  const [, address = '', length = ''] = /^([0-9a-f.:]+)\/(\d{1,3})$/i.exec(item) ?? []
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return !/(^|\.)0\d/.test(address) && Number(length) <= 32
  return ipaddr.IPv6.isValid(address) && Number(length) <= 128
}
