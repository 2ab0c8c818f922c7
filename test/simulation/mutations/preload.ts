/** To be loaded before a test, with `--import`: its modules are read with the edits made that the environment has as JSON. */
import * as v from 'valibot'
import { editModules } from './edit-modules.ts'

const Edits = v.array(v.object({ file: v.string(), text: v.string(), becomes: v.string() }))

editModules(v.parse(Edits, JSON.parse(process.env.ROLLCALL_EDITS ?? '')))
