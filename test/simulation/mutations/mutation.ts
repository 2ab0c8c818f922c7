/** A precondition that is taken out of the code: what the text of a source says, and what it says then. */
export interface Mutation {
  readonly name: string
  readonly edits: readonly Edit[]
  /** Kinds of faults: scenes with one of these show it soonest. All scenes where it is left out. */
  readonly about?: readonly string[]
  /** It breaks no promise, or chance hardly brings that about: its fixed scene alone notices it. */
  readonly inSceneAlone?: true
}

export interface Edit {
  /** From the root of the repository. */
  readonly file: string
  /** Stands there once. */
  readonly text: string
  readonly becomes: string
}

/** Where most of the rules are. */
export const LIFECYCLE = 'controller/loops/node/decide/lifecycle'

export function edit(file: string, text: string, becomes: string): Edit {
  return { file, text, becomes }
}

/** @throws Error where the source has changed, so that the mutation must be written anew */
export function mutate(source: string, { file, text, becomes }: Edit): string {
  const [before, after, ...more] = source.split(text)
  if (before === undefined || after === undefined || more.length > 0)
    throw new Error(`${file} does not hold just once: ${text}`)
  return `${before}${becomes}${after}`
}
