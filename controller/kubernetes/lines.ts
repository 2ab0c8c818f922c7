const NEWLINE = 10

/**
 * Cuts a stream of bytes into lines of UTF-8 text, without their newlines.
 *
 * Text after the last newline is dropped: a connection ended in the middle of a line.
 *
 * @throws RangeError as soon as a line is longer than `maxBytes`
 */
export async function* readLines(
  pieces: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<string> {
  let begun: Uint8Array[] = []
  let length = 0
  for await (const piece of pieces) {
    let start = 0
    for (let end = piece.indexOf(NEWLINE); end !== -1; end = piece.indexOf(NEWLINE, start)) {
      length += end - start
      if (length > maxBytes) throw tooLong(maxBytes)
      begun.push(piece.subarray(start, end))
      yield Buffer.concat(begun, length).toString('utf8')
      begun = []
      length = 0
      start = end + 1
    }
    if (start < piece.length) {
      length += piece.length - start
      if (length > maxBytes) throw tooLong(maxBytes)
      begun.push(piece.subarray(start))
    }
  }
}

function tooLong(maxBytes: number): RangeError {
  return new RangeError(`a line is longer than ${maxBytes} bytes`)
}
