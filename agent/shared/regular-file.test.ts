import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import t from 'tap'
import { readRegularFile } from './regular-file.ts'

const dir = t.testdir({ file: 'text', folder: {} })
execFileSync('mkfifo', [`${dir}/pipe`])
// As Kubernetes mounts Secrets and ConfigMaps.
symlinkSync('file', `${dir}/link`)

for (const name of ['file', 'link']) t.equal(readRegularFile(`${dir}/${name}`, 4).toString(), 'text', name)
t.throws(() => readRegularFile(`${dir}/file`, 3), {
  code: 'EFBIG',
  message: `${dir}/file has 4 bytes, more than 3`,
})
const refused: readonly [string, string][] = [
  [`${dir}/none`, 'ENOENT'],
  [`${dir}/folder`, 'EISDIR'],
  [`${dir}/pipe`, 'EFTYPE'],
  ['/dev/zero', 'EFTYPE'],
]
for (const [path, code] of refused) t.throws(() => readRegularFile(path, 100), { code }, path)
