/** `node test/together.ts NAME FILE...` runs test files in one process, which tap knows by this name. */
import { resolve } from 'node:path'

const [name = '', ...files] = process.argv.splice(2)
// tap names the folders of tests by its arguments, and a list of files would make them too long.
process.argv.push(name)
for (const file of files) await import(resolve(file))
