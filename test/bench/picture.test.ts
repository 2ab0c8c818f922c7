import { SaxesParser } from 'saxes'
import t from 'tap'
import type { BenchmarkRun } from './initialize.ts'
import { picture } from './picture.ts'

function run(provider: string, nodes: number, seconds: number): BenchmarkRun {
  return {
    provider,
    nodes,
    seconds,
    firstSeconds: 1,
    apiServer: { initialized: 1, recorded: 1 },
    writes: nodes,
    calls: 0,
    operations: {},
    bytes: {},
    sessions: { soap: 1, rest: 1 },
    usage: {
      cpuSeconds: 1,
      peakResident: 100,
      peakAnonymous: 50,
      anonymous: 40,
      resident: 90,
    },
    quiet: undefined,
    early: [],
    wrong: [],
  }
}

t.test('a picture has a bar for each figure, of a height that follows it', async (t) => {
  const svg = picture([run('Ours & <theirs>', 10, 1), run('CPI', 10, 10), run('Ours & <theirs>', 100, 100)])
  const parser = new SaxesParser()
  const texts: string[] = []
  const bars: number[] = []
  parser.on('error', (error) => t.fail(error.message))
  parser.on('text', (text) => texts.push(text))
  parser.on('opentag', ({ name, attributes }) => {
    if (name === 'rect') bars.push(Number(attributes.height))
  })
  parser.write(svg).close()
  t.ok(texts.includes('Ours & <theirs>'), 'a name is written, not read as markup')
  for (const figure of ['1.0', '10', '100', '10 Nodes', '100 Nodes']) t.ok(texts.includes(figure), figure)
  // After the background and the legend of two come those of the first panel, by number of Nodes.
  const [one = 0, ten = 0, hundred = 0] = bars.slice(3)
  t.ok(0 < one && one < ten && ten < hundred)
  t.ok(Math.abs(ten - one - (hundred - ten)) < 1, 'a factor of ten is always the same step')
  t.notMatch(svg, /NaN|Infinity|undefined/, 'also where a figure is 0 or was not measured')
})
