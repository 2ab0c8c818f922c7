import { type AttackRow, NOTHING, theme } from './row.ts'

function row(tried: string, refusedBy: AttackRow['refusedBy'], seen: string): AttackRow {
  return { credential: 'kubelet', tried, refusedBy, seen, victim: NOTHING }
}

/** The attacker's own reports, made to overload those that read them. */
export const bodies = theme('Reports made to overload their readers', {
  '4 MB': row('a report of 4 MB', 'API server', 'limit'),
  'unknown fields': row('10,000 unknown fields', 'API server', 'field not declared in schema'),
  depth: row('100,000 nested lists', 'API server', 'exceeded max depth'),
  aliases: row('YAML that grows a million times by aliases', 'API server', 'excessive aliasing'),
  'not Unicode': row('bytes that are not UTF-8', 'API server', 'invalid'),
  'upper case': row('its serial number in another form', 'schema', 'should match'),
  'all at the limit': row('all as long as the schema allows', 'nobody needs to', 'Proven'),
})
