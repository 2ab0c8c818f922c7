/** The style of the page of `status`. Tones differ by their borders, and by a symbol before each name: color only adds to it. */
export const STYLE = `
:root { color-scheme: light dark; --page: #f6f7f9; --box: #fff; --text: #1a1b1f; --quiet: #545763; --line: #c6c9d2;
  --good: #17653a; --note: #2b5a9b; --warn: #7d4a00; --bad: #b3201a; }
@media (prefers-color-scheme: dark) {
  :root { --page: #131418; --box: #1d1f25; --text: #e9eaee; --quiet: #a9adb9; --line: #434753;
    --good: #7dd3a0; --note: #93bdf5; --warn: #f0bb62; --bad: #ff9c94; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 80rem; padding: 1.5rem; background: var(--page); color: var(--text);
  font: 0.9375rem/1.45 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { margin: 0; font-size: 1.6rem; }
h2 { margin: 2rem 0 0.75rem; font-size: 1.2rem; }
h3, h4 { display: inline; font-size: 1rem; margin: 0; }
header p, small, .node span, summary span, dd { color: var(--quiet); }
ul { list-style: none; margin: 0; padding: 0; }
bdi { unicode-bidi: isolate; }
.good { --tone: var(--good); --edge: solid; }
.note { --tone: var(--note); --edge: dotted; }
.warn { --tone: var(--warn); --edge: dashed; }
.bad { --tone: var(--bad); --edge: double; }
.tiles { display: flex; flex-wrap: wrap; gap: 0.75rem; }
.tiles li { background: var(--box); border: 1px solid var(--line); border-left: 6px var(--edge) var(--tone); padding: 0.5rem 1rem; }
.tiles b { display: block; font-size: 1.6rem; line-height: 1.2; }
.tiles span { color: var(--tone); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.2rem 1rem; margin: 1rem 0; }
dt { font-weight: 600; }
dd { margin: 0; }
.said li { background: var(--box); border-left: 6px var(--edge) var(--tone); padding: 0.4rem 0.75rem; margin: 0.4rem 0; }
.said b { color: var(--tone); }
summary { cursor: pointer; padding: 0.5rem 0.25rem; }
.reasons, .hosts { display: grid; gap: 0.75rem; align-items: start; }
.reasons { grid-template-columns: repeat(auto-fill, minmax(min(30rem, 100%), 1fr)); margin-top: 0.75rem; }
.hosts { grid-template-columns: repeat(auto-fill, minmax(min(16rem, 100%), 1fr)); padding: 0.5rem 0; }
details.reason, details.cluster { background: var(--box); border: 1px solid var(--line); padding: 0 0.75rem; min-width: 0; }
details.cluster { margin: 0.5rem 0; }
details.reason { border-left: 6px var(--edge) var(--tone); }
.reason h3 { color: var(--tone); }
.reason p { margin: 0.25rem 0 0.75rem; }
.names { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; }
.host { border: 1px solid var(--line); padding: 0.5rem 0.75rem; min-width: 0; }
.node { border-left: 4px var(--edge) var(--tone); padding: 0 0 0 0.6rem; margin: 0.5rem 0; }
.node b { color: var(--tone); }
.node span { display: block; font-size: 0.8125rem; }
#legend { margin-top: 2rem; }
@media print { details::details-content { content-visibility: visible; } body { max-width: none; } }
`
