/**
 * Reads a body as text, of at most so many bytes after inflation. Throws what `tooLong` makes for a longer one, of which no
 * more is read then.
 */
export async function readText(
  body: AsyncIterable<Uint8Array>,
  most: number,
  tooLong: () => Error,
): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.byteLength
    if (bytes > most) throw tooLong()
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}
