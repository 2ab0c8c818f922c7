import t from 'tap'
import { createRecorder, picture } from './picture.ts'

t.test('what a person sees at the end is kept, but for what commands say', async (t) => {
  const printed: string[] = []
  const recorder = createRecorder((line) => printed.push(line))
  recorder.print('begin', '')
  recorder.draw(['one of two'])
  recorder.draw(['two of two'])
  recorder.settle()
  recorder.print('', recorder.style('bold', '$ kubectl get nodes'), 'NAME\nforger', '', 'end')
  t.strictSame(recorder.lines(), ['begin', '', 'two of two', '', 'end'])
  t.match(printed, ['begin', '', 'two of two', '', /\$ kubectl get nodes/, 'NAME\nforger', '', 'end'])
})

t.test('texts and colors stand where they stood', async (t) => {
  const { style } = createRecorder(() => {})
  const svg = picture([`a ${style('red', '<b>')} & c`])
  t.match(svg, /<tspan x="14\.0"[^>]*>a <\/tspan>/)
  t.match(svg, /<tspan x="28\.5"[^>]*fill="#ff8389">&lt;b><\/tspan>/)
  t.match(svg, /<tspan x="50\.2" textLength="28\.9"> &amp; c<\/tspan>/)
})
