import { styleText } from 'node:util'

export type Ink = 'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan'

/** Colors a text, or leaves it as it is. */
export type Style = (ink: Ink, text: string) => string

export function createStyle(color: boolean): Style {
  return (ink, text) => (color && text !== '' ? styleText(ink, text, { validateStream: false }) : text)
}

/** As "0.42 s" or "3 min 05 s". */
export function formatDuration(ms: number): string {
  if (ms < 9_950) return `${(ms / 1000).toFixed(ms < 995 ? 2 : 1)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, '0')} s`
}
