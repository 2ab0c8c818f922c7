/** A text as it is compared with another that may say the same at another time, of another port, or about another count. */
export function withoutNumbers(text: string): string {
  return text.replaceAll(/\d+/g, '0')
}
