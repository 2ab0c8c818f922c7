import type { Findings } from './findings.ts'
import type { Result } from './result.ts'
import type { Setting } from './sections.ts'

/** What a setting holds; undefined where it is absent, or wrong, which is then in the findings. */
export function take<T>(
  setting: Setting | undefined,
  parse: (text: string) => Result<T>,
  findings: Findings,
): T | undefined {
  if (setting === undefined) return undefined
  const checked = parse(setting.text)
  if (checked.ok) return checked.value
  // A setting of `global` may be asked for twice.
  if (!findings.refused(setting.path)) findings.refuse(setting.path, setting.at, checked.message)
  return undefined
}
