/** For comparing two messages that may differ only in times, ports or counts. */
export function withoutNumbers(text: string): string {
  return text.replaceAll(/\d+/g, '0')
}
